// Prints ratios, not times: what a machine can do differs, how the adapter compares with the bare driver does not.
// --check: exits with 1 where a bar is missed. --rows=N: another size of the large scope.
import { cpus } from 'node:os'
import pg from 'pg'
import { postgresAdapter } from './adapter.mjs'
import { SETTINGS, startCluster } from './cluster.mjs'
import { printSizes } from '../ratio-table.mjs'
import { compareWithHand, overshootText } from '../servers/beside-hand.mjs'
import { METHOD } from '../servers/compare-waiting.mjs'
import { startDelayProxy } from '../servers/delay-proxy.mjs'
import { inWords, readOptions } from '../servers/options.mjs'
import { small } from '../servers/scopes.mjs'
import { compareDepths, compareScopeSizes } from '../servers/store-reads.mjs'
import { openReport } from '../report.mjs'
import { createTableByHand, bytesByHand, reserveByHand } from './by-hand.mjs'
import { loadScopes } from './loaded-scopes.mjs'
import { compareCounters, comparePages } from './reads.mjs'
import { measureSizes } from './sizes.mjs'
import { measureSurroundings } from './surroundings.mjs'
import { compareHotScope, compareRefusals, compareUploads } from './writes.mjs'

const { check, rows, deepPage } = readOptions({ rows: 1_040_000, leastRows: 50_000 })
const CALLERS = 32
const DELAY = 2.5
const BARE_SCHEMA = 'bench_bare'

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

${METHOD} Statements are prepared on both sides.
`)

const report = openReport('postgres')
await store.migrate()
const loading = performance.now()
await loadScopes(single, store, rows)
const loadingSeconds = (performance.now() - loading) / 1000
const sizes = await measureSizes(single)
printSizes(loadingSeconds, sizes)

const scopes = { small: `${inWords(small.rows)} rows`, large: `${inWords(rows)} rows` }
report.add(
  `Counters, of a small scope (${scopes.small}) and a large one (${scopes.large})`,
  ['bare read', 'adapter'],
  await compareCounters(single, store),
)
report.add('The same call for either scope', [scopes.small, scopes.large], await compareScopeSizes(store))
report.add(
  `Page ${inWords(deepPage)} of the large scope`,
  ['page 1', 'deep page'],
  await compareDepths(store, deepPage),
)
report.add('A page of 100 of the large scope', ['same SQL', 'adapter'], await comparePages(single, store))

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
report.add(
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
report.add('reserve', ['stored', 'refused'], await compareRefusals(single))
report.add('One hot scope', ['no lane', 'adapter'], await compareHotScope(many, CALLERS))

await createTableByHand(far)
const hand = await compareWithHand({
  store: postgresAdapter(far),
  byHand: {
    reserve: (wanted) => reserveByHand(far, wanted),
    bytes: (scope) => bytesByHand(far, scope),
  },
  callers: CALLERS,
  leastAlone: 3,
})
report.add(
  `reserve ${DELAY} ms away, beside BEGIN, find, sum, upsert, COMMIT by hand`,
  ['by hand', 'adapter'],
  hand.results,
)
console.log(overshootText(hand.overshoot))

const differences = await store.checkUsage()
if (differences.length > 0) console.error(`Counters differ from the rows in ${differences.length} scopes.`)
for (const pool of pools) await pool.end()
await proxy.stop()
await cluster.stop()

const isRight = differences.length === 0 && hand.overshoot.worst.store <= 0
report.close({ check, isRight })
