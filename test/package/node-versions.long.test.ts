import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { findNode, nodeVersions } from './environments.js'
import { createApplication, linkPackages, loadEntries, temporaryFolder } from './packed-package.js'
import { repository, runProgram, runProgramWith } from './programs.js'

const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  readonly engines: { readonly node: string }
  readonly peerDependencies: Readonly<Record<string, string>>
}
const majors = Object.keys(nodeVersions).map(Number) as (keyof typeof nodeVersions)[]
/** What a version between two others lacks, one of them lacks too. */
const limits = [Math.min(...majors), Math.max(...majors)]
const application = temporaryFolder()
const nodes = await Promise.all(majors.map(async (major) => ({ major, ...(await findNode(major)) })))

beforeAll(async () => {
  await createApplication(application, 'entries')
  linkPackages(application, Object.keys(manifest.peerDependencies))
})

it('requires the oldest tested version of Node or later in engines', () => {
  expect(manifest.engines.node).toBe(`>=${majors[0]}`)
})

for (const { major, path, skipped } of nodes) {
  describe.skipIf(path === null)(`on Node ${major}${skipped}`, () => {
    const deprecations = join(application, `deprecations-${major}`)
    const recording = {
      NODE_OPTIONS: `--require=${join(application, 'record-deprecations.cjs')}`,
      DEPRECATIONS_FILE: deprecations,
    }
    const run = (...args: string[]) => runProgramWith(recording, application, path!, ...args)

    it('exports the same names from every entry as ESM and as CommonJS', async () => {
      for (const [specifier, { esm, cjs }] of Object.entries(await loadEntries(run))) {
        expect(esm.names, specifier).not.toEqual([])
        expect(cjs, specifier).toEqual(esm)
      }
    })

    it('recognizes a StorageError across ESM and CommonJS, and logs its name', async () => {
      expect(await run('storage-error.mjs')).toEqual({ exitCode: 0, output: 'one class\n' })
    })

    it('passes the conformance suite under node:test', async () => {
      const { output } = await run('--test', '--test-reporter=tap', 'conformance.test.mjs')
      expect(output).toMatch(/^# fail 0$/m)
      expect(Number(/^# pass (\d+)$/m.exec(output)?.[1])).toBeGreaterThan(200)
    })

    // The version that runs this file runs the unit tests as a project of their own.
    it.runIf(limits.includes(major) && path !== process.execPath)('passes the unit tests', async () => {
      const vitest = join('node_modules', 'vitest', 'vitest.mjs')
      const report = join(application, `unit-tests-${major}.json`)
      const args = [vitest, 'run', '--project=unit', '--reporter=json', `--outputFile=${report}`]
      const { exitCode, output } = await runProgramWith(recording, repository, path!, ...args)
      const totals = await runProgram(repository, process.execPath, join('.ci', 'test-totals.mjs'), report)
      expect(exitCode, totals.output + output).toBe(0)
    })

    it('uses nothing that this version deprecates', () => {
      expect(existsSync(deprecations) ? readFileSync(deprecations, 'utf8') : '').toBe('')
    })
  })
}
