// Prints ratios, not times: what a machine can do differs, how the adapter compares with the bare driver does not.
// --check: exits with 1 where a bar is missed. --rows=N: another size of the large scope.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { postgresAdapter } from './adapter.mjs'
import { SETTINGS, startCluster } from './cluster.mjs'
import { startDelayProxy } from './delay-proxy.mjs'
import { loadScopes, small } from './loaded-scopes.mjs'
import { compareWithHand } from './network.mjs'
import { barText, printRatios, printTable } from './ratio-table.mjs'
import { compareCounters, compareDepths, comparePages, compareScopeSizes } from './reads.mjs'
import { measureSizes } from './sizes.mjs'
import { measureSurroundings } from './surroundings.mjs'
import { compareHotScope, compareRefusals, compareUploads } from './writes.mjs'

const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, rows: { type: 'string', default: '1040000' } },
})
const rows = Number(values.rows)
if (!Number.isSafeInteger(rows) || rows < 50_000) {
  console.error('--rows must be a number of 50000 or more.')
  process.exit(2)
}

const CALLERS = 32
const DELAY = 2.5
const BARE_SCHEMA = 'bench_bare'
/** The deepest is page 10 000; of a smaller scope one that is full all the same, with active rows only. */
const deepPage = Math.min(10_000, Math.floor((rows * 0.97) / 100))
const inWords = (number) => Math.round(number).toLocaleString('en')

const cluster = await startCluster()
const pools = new Set()
function poolOf(max, more = {}) {
  const pool = new pg.Pool({ ...cluster.connection, max, idleTimeoutMillis: 0, ...more })
  // The server may end a connection that is just being closed.
  pool.on('error', () => {})
  pools.add(pool)
  return pool
}

const single = poolOf(1)
const store = postgresAdapter(single)
const { server_version: version } = (await single.query('SHOW server_version')).rows[0]
console.log(`PostgreSQL ${version} (${cluster.from}) with ${SETTINGS.join(', ')}; TCP on this machine;
Node ${process.versions.node}, ${cpus().length} CPUs.

Method: both sides of a line use the same server, pool and connections, in turn, in 61 to 601 short rounds of as many
calls as take 3 ms or more; who begins changes with every round. Statements are prepared on both sides. A time is the
median of the rounds, in microseconds from the first call's start to the last one's end, divided by the calls. The ratio
is the median of the ratios of single rounds: how many times as long the right side takes (bars with <=), or how many
times as many calls it makes in the same time (bars with >=). Lowest and highest of these ratios show the noise.
`)

const missed = []
function report(title, sides, results) {
  printRatios({ title, sides, results })
  missed.push(...results.filter((result) => result.missed).map((result) => ({ ...result, title })))
}

await store.migrate()
const loading = performance.now()
await loadScopes(single, store, rows)
const loadingSeconds = (performance.now() - loading) / 1000
const sizes = await measureSizes(single)
printTable(`Sizes, after ${loadingSeconds.toFixed(0)} s of loading`, [
  ['', 'entries', 'MB', 'bytes each'],
  ...sizes.map((size) => [
    size.name,
    inWords(size.entries),
    size.megabytes.toFixed(1),
    size.bytesPerEntry.toFixed(1),
  ]),
])

const scopes = { small: `${inWords(small.rows)} rows`, large: `${inWords(rows)} rows` }
report(
  `Counters, of a small scope (${scopes.small}) and a large one (${scopes.large})`,
  ['bare read', 'adapter'],
  await compareCounters(single, store),
)
report('The same call for either scope', [scopes.small, scopes.large], await compareScopeSizes(store))
report(
  `Page ${inWords(deepPage)} of the large scope`,
  ['page 1', 'deep page'],
  await compareDepths(store, deepPage),
)
report('A page of 100 of the large scope', ['same SQL', 'adapter'], await comparePages(single, store))

const { host, port } = cluster.connection
const proxy = await startDelayProxy({ host, port }, DELAY)
const far = poolOf(CALLERS, { port: proxy.port })
const surroundings = await measureSurroundings(single, far)
console.log(`Writes: a round trip takes ${surroundings.roundTrip.toFixed(2)} ms, through the slow network ${surroundings.farRoundTrip.toFixed(2)} ms, an INSERT with its
commit ${surroundings.commit.toFixed(2)} ms. Where a commit is slow, everything that commits once takes alike.
`)

const eight = poolOf(8)
const many = poolOf(CALLERS)
await postgresAdapter(single, { schema: BARE_SCHEMA }).migrate()
report(
  'reserve + confirm, each caller in a scope of its own',
  ['INSERT + UPDATE', 'adapter'],
  await compareUploads(
    [
      { pool: single, connections: 1, least: 0.7 },
      { pool: eight, connections: 8, least: 0.5 },
      { pool: many, connections: CALLERS, least: 0.5 },
    ],
    BARE_SCHEMA,
  ),
)
report('reserve', ['stored', 'refused'], await compareRefusals(single))
report('One hot scope', ['no lane', 'adapter'], await compareHotScope(many, CALLERS))

const hand = await compareWithHand(far, CALLERS)
report(
  `reserve ${DELAY} ms away, beside BEGIN, find, sum, upsert, COMMIT by hand`,
  ['by hand', 'adapter'],
  hand.results,
)
const { races, callers, maxBytes, worst, exceeded } = hand.overshoot
console.log(`${races} races of ${callers} callers for the last ${inWords(maxBytes)} bytes: by hand the quota was exceeded in ${exceeded.byHand},
by ${inWords(worst.byHand)} bytes at worst; by the adapter in ${exceeded.store}, by ${inWords(worst.store)} bytes.
`)

const differences = await store.checkUsage()
if (differences.length > 0) console.error(`Counters differ from the rows in ${differences.length} scopes.`)
for (const pool of pools) await pool.end()
await proxy.stop()
await cluster.stop()

for (const { title, name, ratio, bar } of missed) {
  console.error(`Missed its bar: ${title}, ${name}: ${ratio.toFixed(2)} (bar ${barText(bar)}).`)
}
const wrong = missed.length > 0 || differences.length > 0 || worst.store > 0
if (values.check && wrong) process.exitCode = 1
