// Measures what importing each entry adds to the start of a process.
// --check: exit with 1 if a bar is missed. --rounds=N: fresh processes per entry.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { median, misses } from '../ratios.mjs'
import { barText, printTable } from '../ratio-table.mjs'
import { openReport } from '../report.mjs'

const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, rounds: { type: 'string', default: '41' } },
})
const rounds = Number(values.rounds)
if (!Number.isSafeInteger(rounds) || rounds < 1) {
  console.error(`--rounds must be an integer of 1 or more (got ${values.rounds}).`)
  process.exit(2)
}

const MAIN = { most: 15 }
const ENTRY = { most: 10 }
/** What an entry imports itself, which most servers import anyway. Others get an open connection or an app from their caller. */
const AWS_SDK = ['@aws-sdk/client-s3', '@aws-sdk/s3-request-presigner']
const BUILT_IN_MODULES = ['node:crypto', 'node:fs/promises', 'node:os', 'node:path']

const entries = [
  { entry: '@svc/db', bar: MAIN },
  ...['postgres', 'mongo', 'memory', 'redis', 'express', 'koa', 'fastify', 'hono', 'adapter'].map((name) => ({
    entry: `@svc/db/${name}`,
    bar: ENTRY,
  })),
  { entry: '@svc/db/disk', driver: BUILT_IN_MODULES, bar: ENTRY },
  // Without a bar: the SDK takes so much longer to load that its noise hides the entry.
  { entry: '@svc/db/s3', driver: AWS_SDK, bar: {} },
].map(({ entry, driver = [], bar }) => ({ entry, driver, bar }))

console.log(`Node ${process.versions.node}, ${cpus().length} CPUs.

Method: each measurement is two fresh processes, one after the other: one that imports the entry, and one that doesn't. Both
import the AWS SDK for S3, and Node's own modules for the disk. All take turns for ${rounds} rounds. Figures are medians of the
differences, in milliseconds of processor time until the import is done, with all threads of the process. Bars apply to them.
Waiting is the same in wall-clock time, which other load on the machine affects.
`)

const pairs = new Map(entries.map(({ entry }) => [entry, []]))
await startOf([])
for (let round = 0; round < rounds; round++) {
  for (const { entry, driver } of round % 2 === 0 ? entries : entries.toReversed()) {
    const without = await startOf(driver)
    const imported = await startOf([...driver, entry])
    pairs.get(entry).push({ without, imported })
  }
}

const results = entries.map(({ entry, bar }) => {
  const added = (what) =>
    median(pairs.get(entry).map(({ without, imported }) => imported[what] - without[what]))
  const milliseconds = added('processor')
  return {
    name: entry,
    start: median(pairs.get(entry).map(({ without }) => without.processor)),
    ratio: milliseconds,
    waiting: added('waiting'),
    bar,
    missed: misses(milliseconds, bar),
  }
})
printTable('Added to the start of a process', [
  ['', 'start without', 'added', 'bar', 'waiting', ''],
  ...results.map(({ name, start, ratio, bar, waiting, missed }) => [
    name,
    start.toFixed(1),
    ratio.toFixed(1),
    barText(bar),
    waiting.toFixed(1),
    missed ? 'missed' : '',
  ]),
])

const report = openReport('cold start')
report.record('milliseconds added by an import', results)
report.close({ check: values.check, isCorrect: true })

/** Returns the processor and wall-clock time, in milliseconds, of a process that imports these modules. */
async function startOf(modules) {
  const child = fork(fileURLToPath(new URL('import-process.mjs', import.meta.url)), modules)
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`Importing ${modules.join(' ')} exited with code ${code} and without a result.`)
  })
  const [cost] = await Promise.race([once(child, 'message'), exited])
  await exited.catch(() => undefined)
  return cost
}
