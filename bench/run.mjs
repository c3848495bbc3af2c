// Runs all benchmarks. Prints ratios, because they carry over between machines and times do not.
// --check: exit with 1 if a bar is missed. --rows=N: size of the large scopes (at least 50000 in Postgres).
// BENCHMARKS.md explains what is measured and what is not.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { compareDeletedNames } from './deleted-names.mjs'
import { compareEndpoint } from './endpoint.mjs'
import { compareWaitingWrites } from './lane.mjs'
import { compareRowCounts } from './memory.mjs'
import { printSummary } from './ratio-table.mjs'
import { openReport } from './report.mjs'
import { serverBenchmarks } from './server-benchmarks.mjs'

const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, rows: { type: 'string' } },
})
const rows = Number(values.rows ?? 1_000_000)
if (!Number.isSafeInteger(rows) || rows < 1000 || rows % 1000 !== 0) {
  console.error(`--rows must be a multiple of 1000, and at least 1000 (got ${values.rows}).`)
  process.exit(2)
}

const withSeparators = (number) => number.toLocaleString('en')

console.log(`Node ${process.versions.node}, ${cpus().length} CPUs.

Method: both sides of a line run in this process, in 201 short, alternating rounds of as many calls as take 1 ms or more on
the left side. Times are medians of the rounds, in microseconds of CPU time per call. The ratio is the right median divided
by the left one. Lowest and highest are ratios of single rounds, and their distance shows the noise. Bars apply to the ratio
only.
`)

const here = [openReport('memory'), openReport('endpoint'), openReport('storage'), openReport('lane')]
const [memoryReport, endpointReport, storageReport, laneReport] = here
const memory = await compareRowCounts(rows)
memoryReport.add(
  `a scope of ${withSeparators(memory.subject)} rows compared with one of ${withSeparators(memory.base)}`,
  [`${withSeparators(memory.base)} rows`, `${withSeparators(memory.subject)} rows`],
  memory.results,
)
memoryReport.add(
  `deep pages of ${withSeparators(memory.subject)} rows compared with the first page`,
  ['first page', 'deep page'],
  memory.depths,
)
console.log(
  `Seeding ${withSeparators(rows)} rows took ${memory.seedingSeconds.toFixed(1)} s of CPU time. ` +
    `The heap then held ${Math.round(memory.heapMegabytes)} MiB.\n`,
)
endpointReport.add(
  'GET /db/objects, a page of 50 with its body read',
  ['without', 'endpoint'],
  await compareEndpoint(),
)
const deleted = await compareDeletedNames()
storageReport.add(
  `a storage with ${withSeparators(deleted.subject)} deleted names compared with one with ${withSeparators(deleted.base)}`,
  [`${withSeparators(deleted.base)} names`, `${withSeparators(deleted.subject)} names`],
  deleted.results,
)
laneReport.add(
  'Scheduling writes to Postgres and MongoDB, those that wait compared with one after the other',
  ['one by one', 'waiting'],
  await compareWaitingWrites(),
)
for (const report of here) report.close({ check: values.check, isCorrect: true })

const all = here.flatMap((report) => report.rows)
for (const { name, program, leastRows, whyNot, isRequired } of await serverBenchmarks()) {
  if (whyNot !== null) {
    console.error(`Skipped: the benchmark of ${name}. ${whyNot}`)
    if (isRequired) process.exitCode = 1
    continue
  }
  const options = values.check ? ['--check'] : []
  if (values.rows !== undefined && leastRows !== null) options.push(`--rows=${Math.max(rows, leastRows)}`)
  const { succeeded, rows: more } = await runInProcess(program, options)
  if (!succeeded) process.exitCode = 1
  all.push(...more)
}
printSummary(all)

/** Runs a benchmark in a separate process. Returns whether it succeeded, and the rows that it sent. */
async function runInProcess(program, options) {
  const file = fileURLToPath(new URL(program, import.meta.url))
  const rows = []
  const child = spawn(process.execPath, [file, ...options], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  })
  child.on('message', (message) => rows.push(...message.rows))
  const [code] = await once(child, 'close')
  return { succeeded: code === 0, rows }
}
