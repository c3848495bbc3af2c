// Prints ratios, not times: what a machine can do differs, how the cost grows does not.
// --check: exits with 1 where a bar is missed. --rows=N: another size of the large scopes (in Postgres at least 50000).
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { compareEndpoint } from './endpoint.mjs'
import { compareRowCounts } from './memory.mjs'
import { runPostgresBenchmark } from './run-postgres.mjs'
import { printTable } from './table.mjs'

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

const memory = await compareRowCounts(rows)
printTable({
  title: `memoryAdapter: a scope with ${inWords(memory.subject)} rows beside one with ${inWords(memory.base)}`,
  sides: [`${inWords(memory.base)} rows`, `${inWords(memory.subject)} rows`],
  results: memory.results,
})
console.log(
  `Seeding ${inWords(rows)} rows took ${memory.seedingSeconds.toFixed(1)} s of processor time; ` +
    `the heap then held ${Math.round(memory.heapMegabytes)} MiB.\n`,
)

const endpoint = await compareEndpoint()
printTable({
  title: 'GET /db/objects, a page of 50, with an answer that is read to its end',
  sides: ['without', 'endpoint'],
  results: endpoint,
})

const missed = [...memory.results, ...endpoint].filter(({ bar, ratio }) => bar !== null && ratio > bar)
for (const { name, ratio, bar } of missed)
  console.error(`Above its bar: ${name}, ${ratio.toFixed(2)} (bar ${bar}).`)

const options = values.check ? ['--check'] : []
if (values.rows !== undefined) options.push(`--rows=${Math.max(rows, 50_000)}`)
const postgresIsContent = await runPostgresBenchmark(options)
if (!postgresIsContent || (values.check && missed.length > 0)) process.exitCode = 1
