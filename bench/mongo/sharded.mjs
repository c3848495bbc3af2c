// Compares the adapter through mongos with the same adapter on one of the shards without mongos. Prints ratios, because they
// carry over between machines and times do not. --check: exit with 1 if a bar is missed.
import { cpus } from 'node:os'
import { MongoClient } from 'mongodb'
import { mongoAdapter } from '@svc/db/mongo'
import { importSource } from '../own-source.mjs'
import { openReport } from '../report.mjs'
import { METHOD } from '../servers/compare-waiting.mjs'
import { readOptions } from '../servers/options.mjs'
import { loadScopes } from './loaded-scopes.mjs'
import { compareRoutedReads, compareRoutedUploads } from './routed-calls.mjs'

const { installedMongod, installedMongos } = await importSource('test/servers/mongod.ts')
const { startShardedCluster } = await importSource('test/servers/sharded-cluster.ts')

const { check, rows } = readOptions({ rows: 20_000, leastRows: 1000 })
/** Milliseconds between two writes to the other shard, which move the time of the cluster. */
const PAUSE = 20

const cluster = await startShardedCluster({ mongod: installedMongod(), mongos: installedMongos() })
// A shard's own default is less.
const durable = { writeConcern: { w: 'majority' } }
const direct = new MongoClient(cluster.shards[0].url, durable)
const routed = new MongoClient(cluster.url, durable)
const admin = routed.db('admin')
const { version } = await admin.command({ buildInfo: 1 })
console.log(`MongoDB ${version}, two shards of one member each with journal, over local TCP; Node ${process.versions.node}, ${cpus().length} CPUs.
The left side uses a database of its own on the first shard, without mongos. Unsharded collections are on the first shard,
and a program writes to the other shard every ${PAUSE} ms.

${METHOD}
`)

const report = openReport('mongos')
const stores = { direct: await openStore(direct.db('direct')) }
for (const [layout, isHashed] of [
  ['unsharded', false],
  ['hashed', true],
]) {
  const name = `routed_${layout}`
  await admin.command({ enableSharding: name, primaryShard: 'shard-0' })
  const key = { _id: 'hashed' }
  for (const collection of isHashed ? ['objects', 'history', 'leftovers'] : []) {
    await admin.command({ shardCollection: `${name}.svc_db_${collection}`, key })
  }
  stores[layout] = await openStore(routed.db(name))
}

await admin.command({ enableSharding: 'elsewhere', primaryShard: 'shard-1' })
let isOver = false
const writing = keepWriting(routed.db('elsewhere').collection('notes'))

for (const layout of ['unsharded', 'hashed']) {
  const sides = { base: stores.direct, subject: stores[layout] }
  const titles = ['one shard', 'mongos']
  report.add(`Reads, ${layout}`, titles, await compareRoutedReads(sides, layout === 'unsharded'))
  report.add(`reserve + confirm, ${layout}`, titles, await compareRoutedUploads(sides))
}
isOver = true
await writing

const differences = (await Promise.all(Object.values(stores).map((store) => store.checkUsage()))).flat()
if (differences.length > 0) console.error(`Counters differ from the rows in ${differences.length} scopes.`)
await Promise.all([direct.close(), routed.close()])
await cluster.remove()
report.close({ check, isCorrect: differences.length === 0 })

async function openStore(db) {
  const store = mongoAdapter(db)
  await store.migrate()
  await loadScopes(db, store, rows)
  return store
}

async function keepWriting(notes) {
  while (!isOver) {
    await notes.updateOne(
      { _id: 1 },
      { $inc: { writes: 1 } },
      { upsert: true, writeConcern: { w: 'majority' } },
    )
    await new Promise((resolve) => setTimeout(resolve, PAUSE))
  }
}
