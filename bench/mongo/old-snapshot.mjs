// Compares calls beside a snapshot that was opened before 100,000 uploads with the same calls without one.
// --rows=N: number of uploads. --check: exit with 1 if a bar is missed.
import { cpus } from 'node:os'
import { MongoClient } from 'mongodb'
import { mongoAdapter } from '@svc/db/mongo'
import { importSource } from '../own-source.mjs'
import { openReport } from '../report.mjs'
import { callsBeside } from '../servers/calls-beside.mjs'
import { compareWaiting } from '../servers/compare-waiting.mjs'
import { readOptions, withSeparators } from '../servers/options.mjs'
import { createUsedStore } from './used-store.mjs'

const { installedMongod, startReplicaSet } = await importSource('test/servers/mongod.ts')

const { check, rows } = readOptions({ rows: 100_000, leastRows: 1000 })
const ROUNDS = 21
const CALLS = 3
const BAR = { most: 3 }
/** The server would end the transaction that holds the snapshot. */
const DAY = 86_400

console.log(`Node ${process.versions.node}, ${cpus().length} CPUs. Two replica sets of one member. ${withSeparators(rows)} uploads into one scope, each with an event that was
delivered. Every second object was removed, and its history and leftover are gone. On one of the two servers, a transaction that was
opened before holds a snapshot. Neither keeps history for other reads. Times are what a caller waits. Ratios are medians of ${ROUNDS}
alternating rounds of ${CALLS} calls.
`)

/** Loads a server of its own, because a snapshot keeps history in all databases of one. */
async function loadServer(isHeld) {
  const options = { members: 1, durable: true, cacheGigabytes: 1, transactionSeconds: DAY }
  const set = await startReplicaSet(installedMongod(), options)
  const client = new MongoClient(set.url)
  await client.db('admin').command({ setParameter: 1, minSnapshotHistoryWindowInSeconds: 0 })
  const store = mongoAdapter(client.db('bench'), { events: true })
  await store.migrate()
  if (isHeld) {
    const session = client.startSession()
    session.startTransaction({ readConcern: { level: 'snapshot' } })
    await client.db('bench').collection('objects').findOne({}, { session })
  }
  await createUsedStore(client.db('bench'), store, rows)
  return { store, close: async () => (await client.close(), set.remove()) }
}

const [free, held] = [await loadServer(false), await loadServer(true)]
const report = openReport('mongo, beside an old snapshot')
const results = []
for (const { name, call } of callsBeside()) {
  results.push(
    await compareWaiting({
      name,
      base: () => call(free.store),
      subject: () => call(held.store),
      bar: BAR,
      calls: CALLS,
      rounds: ROUNDS,
    }),
  )
}
report.add(`After ${withSeparators(rows)} uploads`, ['no snapshot', 'snapshot'], results)
await Promise.all([free.close(), held.close()])
report.close({ check, isCorrect: true })
