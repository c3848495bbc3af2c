// Prints ratios, not times: what a machine can do differs, how the cost grows does not.
// --check: exits with 1 where a bar is missed. --rows=N: another size of the large scopes (in Postgres at least 50000).
// What is measured, and what it doesn't tell: BENCHMARKS.md.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { compareEndpoint } from './endpoint.mjs'
import { compareRowCounts } from './memory.mjs'
import { printSummary } from './ratio-table.mjs'
import { openReport } from './report.mjs'
import { runApart } from './run-apart.mjs'
import { serverBenchmarks } from './server-benchmarks.mjs'

const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, rows: { type: 'string' } },
})
const rows = Number(values.rows ?? 1_000_000)
if (!Number.isSafeInteger(rows) || rows < 1000 || rows % 1000 !== 0) {
  console.error('--rows must be a multiple of 1000.')
  process.exit(2)
}

const inWords = (number) => number.toLocaleString('en')

console.log(`Node ${process.versions.node}, ${cpus().length} CPUs.

Method: both sides of a line run in this process, in turn, in 201 short rounds of as many calls as take 1 ms or more on
the left side; who begins changes with every round. A time is the median of the rounds, in microseconds of processor
time a call. The ratio is the right median by the left one. Lowest and highest are the ratios of single rounds: how far
they lie apart shows the noise. Bars are for the ratio only.
`)

const here = [openReport('memory'), openReport('endpoint')]
const [memoryReport, endpointReport] = here
const memory = await compareRowCounts(rows)
memoryReport.add(
  `a scope of ${inWords(memory.subject)} rows beside one of ${inWords(memory.base)}`,
  [`${inWords(memory.base)} rows`, `${inWords(memory.subject)} rows`],
  memory.results,
)
console.log(
  `Seeding ${inWords(rows)} rows took ${memory.seedingSeconds.toFixed(1)} s of processor time; ` +
    `the heap then held ${Math.round(memory.heapMegabytes)} MiB.\n`,
)
endpointReport.add(
  'GET /db/objects, a page of 50, read to its end',
  ['without', 'endpoint'],
  await compareEndpoint(),
)
for (const report of here) report.close({ check: values.check, isRight: true })

const all = here.flatMap((report) => report.rows)
for (const { name, program, leastRows, whyNot, isRequired } of await serverBenchmarks()) {
  if (whyNot !== null) {
    console.error(`Skipped: the benchmark of ${name}. ${whyNot}`)
    if (isRequired) process.exitCode = 1
    continue
  }
  const options = values.check ? ['--check'] : []
  if (values.rows !== undefined && leastRows !== null) options.push(`--rows=${Math.max(rows, leastRows)}`)
  const { isContent, rows: more } = await runApart(program, options)
  if (!isContent) process.exitCode = 1
  all.push(...more)
}
printSummary(all)
