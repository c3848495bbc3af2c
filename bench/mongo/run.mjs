// Compares the adapter with the bare driver. Prints ratios, because they carry over between machines and times do not.
// --check: exit with 1 if a bar is missed. --rows=N: size of the large scope.
import { cpus } from 'node:os'
import { MongoClient } from 'mongodb'
import { mongoAdapter } from '@svc/db/mongo'
import { importSource } from '../own-source.mjs'
import { printSizes } from '../ratio-table.mjs'
import { openReport } from '../report.mjs'
import { compareByHand, overshootText } from '../servers/compare-by-hand.mjs'
import { medianTime, METHOD } from '../servers/compare-waiting.mjs'
import { startDelayProxy } from '../servers/delay-proxy.mjs'
import { withSeparators, readOptions } from '../servers/options.mjs'
import { small } from '../servers/scopes.mjs'
import { compareDepths, compareScopeSizes } from '../servers/store-reads.mjs'
import { compareKindsOfClaims, compareWaitingEvents } from '../servers/waiting-events.mjs'
import { openByHand } from './by-hand.mjs'
import { countCommands } from './commands.mjs'
import { createEventQueue } from './event-queue.mjs'
import { loadScopes, measureSizes } from './loaded-scopes.mjs'
import { compareCounters, comparePages } from './reads.mjs'
import { compareEvents, compareHotScope, compareObjectChanges, compareUploads } from './writes.mjs'

const { installedMongod, startReplicaSet } = await importSource('test/servers/mongod.ts')

const { check, rows, deepPage } = readOptions({ rows: 1_000_000, leastRows: 1000 })
const CALLERS = 32
const DELAY = 2.5
const FEW_EVENTS = 1000
const BACKLOG = 10_000
const DATABASE = 'bench'

// Unlike the server of the tests, it flushes acknowledged writes to disk, as in production.
const set = await startReplicaSet(installedMongod(), { members: 1, durable: true, cacheGigabytes: 1 })
const client = new MongoClient(set.url)
const db = client.db(DATABASE)
const store = mongoAdapter(db)
const { version } = await db.admin().buildInfo()
console.log(`MongoDB ${version}, a replica set of one member with journal, w: majority and a cache of 1 GB, over local TCP;
Node ${process.versions.node}, ${cpus().length} CPUs.

${METHOD}
`)

const report = openReport('mongo')
await store.migrate()
const loading = performance.now()
await loadScopes(db, store, rows)
const loadingSeconds = (performance.now() - loading) / 1000
printSizes(loadingSeconds, await measureSizes(db))

const scopes = { small: `${withSeparators(small.rows)} rows`, large: `${withSeparators(rows)} rows` }
report.add(
  `Counters, of a small scope (${scopes.small}) and a large one (${scopes.large})`,
  ['findOne by _id', 'adapter'],
  await compareCounters(db, store),
)
report.add('The same call for either scope', [scopes.small, scopes.large], await compareScopeSizes(store))
report.add(
  `Page ${withSeparators(deepPage)} of the large scope`,
  ['page 1', 'deep page'],
  await compareDepths(store, deepPage),
)
report.add('A page of 100 of the large scope', ['same find', 'adapter'], await comparePages(db, store))

const bare = mongoAdapter(db, { collectionPrefix: 'bench_bare_' })
await bare.migrate()
const bareDocuments = db.collection('bench_bare_objects', { writeConcern: { w: 'majority' } })
const probe = { writeConcern: { w: 'majority' } }
const roundTrip = await medianTime(() => db.command({ ping: 1 }))
const commit = await medianTime(() => db.collection('commits').insertOne({ at: new Date() }, probe))
console.log(`Writes: a round trip takes ${roundTrip.toFixed(2)} ms, an insertOne with its journal ${commit.toFixed(2)} ms. If the latter is slow, it
dominates every write.
`)
report.add(
  'reserve + confirm, each caller in its own scope',
  ['insertOne + updateOne', 'adapter'],
  await compareUploads(db, bareDocuments, [
    { callers: 1, least: 0.4 },
    { callers: 8, least: 0.45 },
    { callers: CALLERS, least: 0.6 },
  ]),
)
const hot = await compareHotScope(db, bareDocuments, CALLERS)
report.add(
  'reserve + confirm, compared with bare writes',
  ['insertOne + updateOne', 'adapter'],
  [hot.withBareWrites],
)
report.add('reserve + confirm, compared with no batching', ['no batching', 'adapter'], [hot.withoutBatching])

report.add(
  'reserve + a change of the object, compared with reserve + release',
  ['release', 'change'],
  await compareObjectChanges(db),
)
report.add('reserve + confirm, with events', ['events off', 'events on'], await compareEvents(db))
report.record('Commands of reserve + confirm', await countCommands(set.url, DATABASE))
const queues = {
  few: await createEventQueue(db, 'bench_few_', FEW_EVENTS),
  many: await createEventQueue(db, 'bench_many_', rows),
}
report.add(
  'Claiming and settling events while others wait',
  [queues.few, queues.many].map(({ waiting }) => `${withSeparators(waiting)} waiting`),
  await compareWaitingEvents(queues),
)
for (const { remove } of Object.values(queues)) await remove()
const kinds = await createEventQueue(db, 'bench_claims_', BACKLOG)
report.add(
  'claimEvents, of first events or retries',
  ['of both', 'of one kind'],
  await compareKindsOfClaims(kinds),
)
await kinds.remove()

const { host, port } = memberOf(set.url)
const proxy = await startDelayProxy({ host, port }, DELAY)
const farClient = new MongoClient(`mongodb://127.0.0.1:${proxy.port}/?directConnection=true`)
const far = farClient.db(DATABASE)
const hand = await compareByHand({
  store: mongoAdapter(far),
  byHand: await openByHand(far),
  callers: CALLERS,
  leastAlone: null,
})
report.add(
  `reserve ${DELAY} ms away, compared with find, sum and insert by hand`,
  ['by hand', 'adapter'],
  hand.results,
)
console.log(overshootText(hand.overshoot))

const differences = await store.checkUsage()
if (differences.length > 0) console.error(`Counters differ from the rows in ${differences.length} scopes.`)
await Promise.all([client.close(), farClient.close()])
await proxy.stop()
await set.remove()
report.close({ check, isCorrect: differences.length === 0 && hand.overshoot.worst.store <= 0 })

function memberOf(url) {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}
