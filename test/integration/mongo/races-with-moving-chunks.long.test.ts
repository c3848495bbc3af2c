import type { StorageObjectStore } from '@svc/db'
import { Long, MongoClient, type Db } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import type { ShardedCluster } from '../../servers/sharded-cluster.js'
import { expectNothingLost } from '../races/crash-test.js'
import { emptyKeys, freshDatabase } from './databases.js'
import { routerReason, SHARDED, startCluster } from './sharded-databases.js'

/** Successful calls of each process between two changes. */
const CALLS_BETWEEN = 20

describe.skipIf(routerReason !== '')(`a store with objects${routerReason}`, () => {
  let cluster: ShardedCluster
  let client: MongoClient
  beforeAll(async () => {
    cluster = await startCluster()
    client = new MongoClient(cluster.url)
    // A shard takes part in one move at a time, so one by the balancer would refuse those of the test.
    await client.db('admin').command({ balancerStop: 1 })
  })
  afterAll(async () => {
    await client.close()
    await cluster.remove()
  })

  it('can be sharded, and its chunks moved, while processes write', async () => {
    const db = freshDatabase(client)
    await mongoAdapter(db).migrate()
    const reading = new AbortController()
    const reads = readUntil(reading.signal, mongoAdapter(db))
    // It is awaited below. Until then a failure must not count as an unhandled rejection.
    reads.catch(() => {})
    await expectNothingLost({
      connection: { kind: 'mongo', url: cluster.url, database: db.databaseName },
      callsBetween: CALLS_BETWEEN,
      outages: [() => shardStore(db), () => moveChunks(db), () => moveChunks(db), () => moveChunks(db)],
      inspect: async (use) => use({ store: mongoAdapter(db), violations: await emptyKeys(db) }),
    }).finally(() => reading.abort())
    expect(await reads).toBeGreaterThan(0)
    const { shards } = (await db.command({ collStats: 'svc_db_objects' })) as unknown as Sizes
    expect(Object.values(shards).map(({ count }) => count > 0)).toEqual([true, true])
    expect(await mongoAdapter(db).verify()).toEqual([])
  })
})

interface Sizes {
  readonly shards: Readonly<Record<string, { readonly count: number }>>
}

/** Makes calls that read several documents until the signal aborts. Returns how many pages had rows. */
async function readUntil(signal: AbortSignal, store: StorageObjectStore): Promise<number> {
  let full = 0
  while (!signal.aborted) {
    for (const { scope } of await store.listScopes({ limit: 3 })) {
      const { objects } = await store.listByScope({ scope })
      const ids = new Set(objects.map(({ id }) => id))
      expect(ids.size).toBe(objects.length)
      if (objects.length > 0) full++
      const [first] = objects
      if (first) await store.listStored({ bucket: first.bucket, limit: 10 })
      if (first) expect(await store.findById({ id: first.id, scope: 'nobody' })).toBe(null)
    }
    await store.listExpired({ before: new Date() })
  }
  return full
}

interface Chunk {
  readonly min: object
  readonly max: object
  readonly shard: string
}

async function shardStore(db: Db): Promise<void> {
  const admin = db.client.db('admin')
  await admin.command({ enableSharding: db.databaseName })
  for (const name of SHARDED) {
    await db.collection(`svc_db_${name}`).createIndex({ _id: 'hashed' })
    await admin.command({ shardCollection: `${db.databaseName}.svc_db_${name}`, key: { _id: 'hashed' } })
  }
}

/** Moves a chunk of each collection to the other shard. */
async function moveChunks(db: Db): Promise<void> {
  const admin = db.client.db('admin')
  const config = db.client.db('config')
  const shards = await config.collection<{ _id: string }>('shards').find().toArray()
  for (const name of SHARDED) {
    const ns = `${db.databaseName}.svc_db_${name}`
    const collection = await config
      .collection<{ _id: string; uuid: unknown }>('collections')
      .findOne({ _id: ns })
    const chunks = config.collection<Chunk>('chunks')
    const ofCollection = { uuid: collection!.uuid }
    // A collection that was empty has several.
    if ((await chunks.countDocuments(ofCollection)) === 1) {
      await admin.command({ split: ns, middle: { _id: Long.ZERO } })
    }
    const [chunk] = await chunks.find({ ...ofCollection, 'min._id': Long.ZERO }).toArray()
    const { min, max, shard } = chunk!
    const other = shards.find(({ _id }) => _id !== shard)!._id
    await admin.command({ moveChunk: ns, bounds: [min, max], to: other, _waitForDelete: true })
  }
}
