// Compares the adapter with the bare driver. Prints ratios, because they carry over between machines and times do not.
// --check: exit with 1 if a bar is missed. --rows=N: size of the large scope.
import { cpus } from 'node:os'
import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { SETTINGS, startCluster } from './cluster.mjs'
import { printSizes } from '../ratio-table.mjs'
import { compareByHand, overshootText } from '../servers/compare-by-hand.mjs'
import { METHOD } from '../servers/compare-waiting.mjs'
import { startDelayProxy } from '../servers/delay-proxy.mjs'
import { withSeparators, readOptions } from '../servers/options.mjs'
import { small } from '../servers/scopes.mjs'
import { compareDepths, compareScopeSizes } from '../servers/store-reads.mjs'
import { compareKindsOfClaims, compareWaitingEvents } from '../servers/waiting-events.mjs'
import { openReport } from '../report.mjs'
import { createTableByHand, bytesByHand, reserveByHand } from './by-hand.mjs'
import { deliverManyEvents, printDelivery } from './delivered-events.mjs'
import { createEventQueue } from './event-queue.mjs'
import { compareImports, IMPORT_CONCURRENCY, printImports } from './imported-objects.mjs'
import { loadScopes, measureSizes } from './loaded-scopes.mjs'
import { compareCounters, comparePages } from './reads.mjs'
import { compareUploadCosts } from './upload-costs.mjs'
import { compareStoredMetadata } from './stored-metadata.mjs'
import {
  compareHotScope,
  compareObjectChanges,
  compareRefusals,
  compareUploads,
  measureLatencies,
} from './writes.mjs'

const { check, rows, deepPage } = readOptions({ rows: 1_040_000, leastRows: 50_000 })
const CALLERS = 32
const DELAY = 2.5
/** Makes each commit wait another millisecond before it flushes, as a disk of a cloud provider does. */
const SLOW_COMMITS = '-c commit_delay=1000 -c commit_siblings=0'
const BARE_SCHEMA = 'bench_bare'
const FEW_EVENTS = 1000
const DELIVERED = 'bench_delivered_events'
const IMPORTED = 'bench_imports'
/** Events that wait while others are delivered. */
const BACKLOG = 10_000

const cluster = await startCluster()
const pools = new Set()
function poolOf(max, more = {}) {
  const pool = new pg.Pool({ ...cluster.connection, max, idleTimeoutMillis: 0, ...more })
  // The server may end a connection while it is being closed.
  pool.on('error', () => {})
  pools.add(pool)
  return pool
}

async function endPool(pool) {
  pools.delete(pool)
  await pool.end()
}

const single = poolOf(1)
const store = postgresAdapter(single)
const { server_version: version } = (await single.query('SHOW server_version')).rows[0]
console.log(`PostgreSQL ${version} (${cluster.from}) with ${SETTINGS.join(', ')}, over local TCP;
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

const scopes = { small: `${withSeparators(small.rows)} rows`, large: `${withSeparators(rows)} rows` }
report.add(
  `Counters, of a small scope (${scopes.small}) and a large one (${scopes.large})`,
  ['bare read', 'adapter'],
  await compareCounters(single, store),
)
report.add('The same call for either scope', [scopes.small, scopes.large], await compareScopeSizes(store))
report.add(
  `Page ${withSeparators(deepPage)} of the large scope`,
  ['page 1', 'deep page'],
  await compareDepths(store, deepPage),
)
report.add('A page of 100 of the large scope', ['same SQL', 'adapter'], await comparePages(single, store))
report.add(
  'Objects by storage key, with 16 kB of metadata each',
  ['without', 'with'],
  await compareStoredMetadata(single, store),
)

const { host, port } = cluster.connection
const proxy = await startDelayProxy({ host, port }, DELAY)
const far = poolOf(CALLERS, { port: proxy.port })
const latencies = await measureLatencies(single, far)
console.log(`Writes: a round trip takes ${latencies.roundTrip.toFixed(2)} ms, ${latencies.farRoundTrip.toFixed(2)} ms over the slow network, and an INSERT with its commit
${latencies.commit.toFixed(2)} ms. If commits are slow, they dominate every write.
`)

const eight = poolOf(8)
const many = poolOf(CALLERS)
await postgresAdapter(single, { schema: BARE_SCHEMA }).migrate()
report.add(
  'reserve + confirm, each caller in its own scope',
  ['INSERT + UPDATE', 'adapter'],
  await compareUploads(
    [
      { pool: single, connections: 1, least: 0.7 },
      { pool: eight, connections: 8, least: 0.65 },
      { pool: many, connections: CALLERS, least: 0.6 },
    ],
    BARE_SCHEMA,
  ),
)
report.add('reserve', ['stored', 'refused'], await compareRefusals(single, { most: null }))
report.add(
  'One hot scope',
  ['no batching', 'adapter'],
  await compareHotScope(many, { callers: CALLERS, least: 2.5 }),
)

const slow = {
  single: poolOf(1, { options: SLOW_COMMITS }),
  eight: poolOf(8, { options: SLOW_COMMITS }),
  many: poolOf(CALLERS, { options: SLOW_COMMITS }),
}
const { commit: slowCommit } = await measureLatencies(slow.single, far)
console.log(`The same writes on slower disks: an INSERT with its commit takes ${slowCommit.toFixed(2)} ms.
`)
report.add(
  'reserve + confirm on a slow disk',
  ['INSERT + UPDATE', 'adapter'],
  await compareUploads(
    [
      { pool: slow.single, connections: 1, least: 0.85 },
      { pool: slow.eight, connections: 8, least: 0.7 },
      { pool: slow.many, connections: CALLERS, least: 0.65 },
    ],
    BARE_SCHEMA,
  ),
)
report.add('reserve on a slow disk', ['stored', 'refused'], await compareRefusals(slow.single, { most: 0.4 }))
report.add(
  'One hot scope on a slow disk',
  ['no batching', 'adapter'],
  await compareHotScope(slow.many, { callers: CALLERS, least: 8 }),
)
for (const pool of Object.values(slow)) await endPool(pool)

report.add(
  'reserve + a change of the object, compared with reserve + release',
  ['release', 'change'],
  await compareObjectChanges(single, eight),
)

const imports = await compareImports(poolOf(IMPORT_CONCURRENCY), BARE_SCHEMA, IMPORTED)
printImports(imports)
report.record('importObjects, compared with one INSERT per object', imports)

console.log(`Costs: per reserve + confirm, of rounds of 10. Processor time is that of the process which serves the connection. WAL is
in bytes.
`)
const costs = await compareUploadCosts(single)
report.add('reserve + confirm, compared with INSERT + UPDATE', ['bare', 'adapter'], costs.bare)
report.add('reserve + confirm, events off', ['1.5.5', 'events off'], costs.off)
report.add('reserve + confirm, events on', ['events off', 'events on'], costs.on)

const queues = {
  few: await createEventQueue(single, 'bench_few_events', FEW_EVENTS),
  many: await createEventQueue(single, 'bench_many_events', rows),
}
report.add(
  'Claiming and settling events while others wait',
  [FEW_EVENTS, rows].map((waiting) => `${withSeparators(waiting)} waiting`),
  await compareWaitingEvents(queues),
)
for (const { remove } of Object.values(queues)) await remove()
const kinds = await createEventQueue(single, 'bench_claims', BACKLOG)
report.add(
  'claimEvents, of first events or retries',
  ['of both', 'of one kind'],
  await compareKindsOfClaims(kinds),
)
await kinds.remove()
const delivery = await deliverManyEvents(
  single,
  DELIVERED,
  await createEventQueue(single, DELIVERED, BACKLOG),
  rows,
)
printDelivery(delivery)
report.record(`Size after delivering ${withSeparators(rows)} events`, [delivery.result])

await createTableByHand(far)
const hand = await compareByHand({
  store: postgresAdapter(far),
  byHand: {
    reserve: (wanted) => reserveByHand(far, wanted),
    bytes: (scope) => bytesByHand(far, scope),
  },
  callers: CALLERS,
  leastAlone: 3,
})
report.add(
  `reserve ${DELAY} ms away, compared with BEGIN, find, sum, upsert, COMMIT by hand`,
  ['by hand', 'adapter'],
  hand.results,
)
console.log(overshootText(hand.overshoot))

const differences = await store.checkUsage()
if (differences.length > 0) console.error(`Counters differ from the rows in ${differences.length} scopes.`)
for (const pool of pools) await endPool(pool)
await proxy.stop()
await cluster.stop()

const isCorrect = differences.length === 0 && hand.overshoot.worst.store <= 0
report.close({ check, isCorrect })
