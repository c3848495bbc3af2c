// Prints what each folder of tests costs: lines, tests, and CPU seconds of its run, servers and browsers included.
// Usage: npm run test:costs [-- FOLDER...]. Folders run one after the other, so nothing else should run beside them.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const reports = mkdtempSync(join(tmpdir(), 'svc-db-costs-'))
process.on('exit', () => rmSync(reports, { recursive: true, force: true }))

const folders = process.argv.length > 2 ? process.argv.slice(2).map(wholeFolder) : testFolders()
const rows = folders.map((folder) => ({ folder, lines: countLines(folder), ...runTests(folder) }))
const whole =
  process.argv.length > 2 ? [] : [{ folder: 'npm test', lines: countLines('test'), ...runTests() }]

console.log('| folder | lines | tests | CPU (s) |\n| --- | --- | --- | --- |')
for (const { folder, lines, tests, cpu } of [...rows.sort((a, b) => b.cpu - a.cpu), ...whole]) {
  console.log(`| ${folder} | ${lines} | ${tests} | ${cpu.toFixed(0)} |`)
}

/** Lists the folders with tests: each folder of `test/unit` and `test/integration`, and the other projects as a whole. */
function testFolders() {
  const split = ['test/unit', 'test/integration'].flatMap((project) =>
    readdirSync(join(root, project), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || entry.name.endsWith('.test.ts'))
      .map(({ name }) => wholeFolder(`${project}/${name}`)),
  )
  return [...split, 'test/conformance-runs/', 'test/browser/', 'test/package/']
}

/** vitest takes a name as the beginning of a path, so `test/unit/cli` would include `test/unit/client`. */
function wholeFolder(path) {
  return !path.endsWith('/') && statSync(join(root, path)).isDirectory() ? `${path}/` : path
}

function runTests(folder = 'test/') {
  const report = join(reports, 'report.json')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  // `times` prints the processor time of all processes that the shell and its children have waited for.
  const script = '"$@" >&2; times'
  const command = [process.execPath, vitest, 'run', folder, '--reporter=json', `--outputFile=${report}`]
  const printed = execFileSync('sh', ['-c', script, 'sh', ...command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'))
  console.error(`${folder}: ${numPassedTests} tests passed, ${numFailedTests} failed`)
  return { tests: numPassedTests, cpu: processorSeconds(String(printed)) }
}

/** Adds up the children's line of `times`, such as `1m2.50s 0m3.25s`. */
function processorSeconds(printed) {
  const [user, system] = printed.trim().split('\n').at(-1).split(' ')
  return [user, system].reduce((sum, time) => sum + 60 * parseInt(time) + parseFloat(time.split('m')[1]), 0)
}

function countLines(folder) {
  const files = execFileSync('git', ['ls-files', folder], { cwd: root, encoding: 'utf8' }).split('\n')
  return files
    .filter((file) => /\.(ts|tsx|js|mjs|cjs)$/.test(file))
    .reduce((sum, file) => sum + readFileSync(join(root, file), 'utf8').split('\n').length - 1, 0)
}
