import { storeConformance } from '@svc/db/conformance'
import { mongoAdapter } from '@svc/db/mongo'
import { MongoClient, type Db } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLongRun, runs } from '../../long-runs.js'
import { installedMongod, installedMongos } from '../../servers/mongod.js'
import { startShardedCluster, type ShardedCluster } from '../../servers/sharded-cluster.js'

const programs = { mongod: installedMongod(), mongos: installedMongos() }
const { mongod, mongos } = programs
const reason = mongod === null || mongos === null ? ' (skipped: PATH has no mongod and mongos)' : ''

const EXPIRES = new Date('2100-01-01')

describe.skipIf(reason !== '' || !isLongRun)(`mongoAdapter through mongos${reason}`, () => {
  let cluster: ShardedCluster
  let client: MongoClient
  let databases = 0
  beforeAll(async () => {
    cluster = await startShardedCluster({ mongod: mongod ?? '', mongos: mongos ?? '' })
    client = new MongoClient(cluster.url)
  })
  afterAll(async () => {
    await client.close()
    await cluster.remove()
  })

  const admin = (command: object) => client.db('admin').command({ ...command })
  const freshDatabase = () => client.db(`sharded_${++databases}`)

  /** Shards collections before the first migration. */
  async function shard(db: Db, names: readonly string[], key: object): Promise<void> {
    await admin({ enableSharding: db.databaseName })
    for (const name of names) {
      await admin({ shardCollection: `${db.databaseName}.svc_db_${name}`, key })
    }
  }

  const HASHED = ['objects', 'history', 'leftovers']

  it.each([
    ['objects', { scope: 1, _id: 1 }],
    ['history', { scope: 1, _id: 1 }],
    ['leftovers', { at: 'hashed' }],
  ])('migrate refuses %s with the shard key %j, and verify reports it', async (name, key) => {
    const db = freshDatabase()
    await shard(db, [name], key)
    const flaw = `svc_db_${name} must be sharded by {"_id":"hashed"} or {"_id":1}, or not at all (found ${JSON.stringify(key)}).`
    await expect(mongoAdapter(db).migrate()).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: flaw,
      retryable: false,
    })

    const migrated = freshDatabase()
    await mongoAdapter(migrated).migrate()
    await shard(migrated, ['events'], { _id: 'hashed' })
    expect(await mongoAdapter(migrated).verify()).toEqual([
      'svc_db_events must not be sharded: its queries read from several documents at once.',
    ])
  })

  it('confirms without a scope what another process reserved in sharded collections', async () => {
    const db = freshDatabase()
    await shard(db, HASHED, { _id: 'hashed' })
    const store = mongoAdapter(db)
    await store.migrate()
    expect(await store.verify()).toEqual([])
    for (let i = 0; i < 8; i++) {
      const at = { bucket: 'uploads', key: `key ${i}` }
      await store.reserve({ ...at, scope: `scope ${i}`, declaredSize: 5, expiresAt: EXPIRES })
      const quota = { maxFiles: 1 }
      expect(await mongoAdapter(db).confirm({ ...at, size: 5, quota })).toMatchObject({ scope: `scope ${i}` })
    }
    // Both shards hold some of the rows.
    const { shards } = (await db.command({ collStats: 'svc_db_objects' })) as {
      shards: Record<string, { count: number }>
    }
    expect(Object.values(shards).every(({ count }) => count > 0)).toBe(true)
    expect(await store.checkUsage()).toEqual([])
  })

  for (const [layout, names] of [
    ['unsharded', []],
    ['sharded by a hashed _id', HASHED],
  ] as const) {
    // Takes several minutes, because many reads through mongos wait for the time of the cluster.
    if (!process.env['TEST_SHARDED']) {
      it.skip(`passes the conformance suite, ${layout} (set TEST_SHARDED=1)`)
      continue
    }
    describe(layout, () => {
      const free = { true: [] as Db[], false: [] as Db[] }
      const opened = new Map<object, { readonly db: Db; readonly events: boolean }>()

      storeConformance({
        name: `mongoAdapter through mongos, ${layout}`,
        async createStore({ now, events = false }) {
          const used = free[`${events}`].pop()
          const db = used ?? freshDatabase()
          if (used) {
            for (const name of [...HASHED, 'events']) await db.collection(`svc_db_${name}`).deleteMany({})
          } else {
            await shard(db, names, { _id: 'hashed' })
            await mongoAdapter(db, { events }).migrate()
          }
          const store = mongoAdapter(db, { now })
          opened.set(store, { db, events })
          return store
        },
        close(store) {
          const { db, events } = opened.get(store)!
          free[`${events}`].push(db)
        },
        numRuns: runs(1, 3),
        test: { describe, it },
      })
    })
  }
})
