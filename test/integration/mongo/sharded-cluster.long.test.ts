import { storeConformance } from '@svc/db/conformance'
import { mongoAdapter } from '@svc/db/mongo'
import { MongoClient, type Db } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { groups } from '../../conformance-groups.js'
import type { ShardedCluster } from '../../servers/sharded-cluster.js'
import {
  databaseOf,
  LAYOUTS,
  routerReason,
  shardByHashedId,
  shardCollections,
  SHARDED,
  startCluster,
} from './sharded-databases.js'

const EXPIRES = new Date('2100-01-01')

/** The groups that take the longest and don't depend on where the rows are. */
const LONGEST = /^(?:copies|long lists|strings|validation)/

describe.skipIf(routerReason !== '')(`mongoAdapter through mongos${routerReason}`, () => {
  let cluster: ShardedCluster
  let client: MongoClient
  let databases = 0
  beforeAll(async () => {
    cluster = await startCluster()
    client = new MongoClient(cluster.url)
  })
  afterAll(async () => {
    await client.close()
    await cluster.remove()
  })

  const freshDatabase = () => client.db(`sharded_${++databases}`)

  it.each([
    ['objects', { scope: 1, _id: 1 }],
    ['history', { scope: 1, _id: 1 }],
    ['leftovers', { at: 'hashed' }],
  ])('migrate refuses %s with the shard key %j, and verify reports it', async (name, key) => {
    const db = freshDatabase()
    await shardCollections(db, [name], key)
    const flaw = `svc_db_${name} must be sharded by {"_id":"hashed"} or {"_id":1}, or not at all (found ${JSON.stringify(key)}).`
    await expect(mongoAdapter(db).migrate()).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: flaw,
      retryable: false,
    })

    const migrated = freshDatabase()
    await mongoAdapter(migrated).migrate()
    await shardCollections(migrated, ['events'], { _id: 'hashed' })
    expect(await mongoAdapter(migrated).verify()).toEqual([
      'svc_db_events must not be sharded: its queries read from several documents at once.',
    ])
  })

  it('confirms without a scope what another process reserved in sharded collections', async () => {
    const db = freshDatabase()
    await shardByHashedId(db)
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

  it('migrate() and verify() read from primaries, whatever the client prefers', async () => {
    const other = new MongoClient(cluster.url, { readPreference: 'secondary' })
    const store = mongoAdapter(other.db(`sharded_${++databases}`))
    await store.migrate()
    expect(await store.verify()).toEqual([])
    await other.close()
  })

  for (const layout of LAYOUTS) {
    describe(layout, () => {
      const free = { true: [] as Db[], false: [] as Db[] }
      const opened = new Map<object, { readonly db: Db; readonly events: boolean }>()

      storeConformance({
        name: `mongoAdapter through mongos, ${layout}`,
        async createStore({ now, events = false }) {
          const used = free[`${events}`].pop()
          const db = used ?? (await databaseOf(client, layout))
          if (used) {
            const empty = (name: string) => db.collection(`svc_db_${name}`).deleteMany({})
            await Promise.all([...SHARDED, 'events'].map(empty))
          } else {
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
        numRuns: 1,
        test: groups((group) => !LONGEST.test(group)),
      })
    })
  }
})
