import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { expectNothingLost } from '../races/crash-test.js'
import { lostLeftovers } from '../races/leftover-program.js'
import { race } from '../races/race-tests.js'
import type { Member } from '../../servers/mongod.js'
import type { ShardedCluster } from '../../servers/sharded-cluster.js'
import { emptyKeys } from './databases.js'
import { databaseOf, LAYOUTS, routerReason, startCluster } from './sharded-databases.js'

const CALLERS = 8
/** Successful calls of each process in a race. */
const CALLS = 300
/** Successful calls of each process between two kills. */
const CALLS_BETWEEN = 20
/** Fewer attempts would not show much. */
const LEAST_OWED = 50

describe.skipIf(routerReason !== '')(`races through mongos${routerReason}`, () => {
  let cluster: ShardedCluster
  let client: MongoClient
  beforeAll(async () => {
    cluster = await startCluster()
    client = new MongoClient(cluster.url)
  })
  afterAll(async () => {
    await client.close()
    await cluster.remove()
  })

  for (const layout of LAYOUTS) {
    it(`every attempt that ended has a leftover, ${layout}`, async () => {
      const db = await databaseOf(client, layout)
      const store = mongoAdapter(db)
      await store.migrate()
      const connection = { kind: 'mongo', url: cluster.url, database: db.databaseName } as const
      const { owed } = await race(connection, 'leftovers', { callers: CALLERS, calls: CALLS })
      expect(owed.length).toBeGreaterThan(LEAST_OWED)
      expect(await lostLeftovers(store, owed)).toEqual([])
      expect(await emptyKeys(db)).toEqual([])
      expect(await store.checkUsage()).toEqual([])
    })

    it(`no acknowledged write is lost when a shard is killed, ${layout}`, async () => {
      const db = await databaseOf(client, layout)
      await mongoAdapter(db).migrate()
      const kill = (shard: Member) => async () => {
        await shard.kill()
        await shard.restart()
      }
      const { unavailable } = await expectNothingLost({
        connection: { kind: 'mongo', url: cluster.url, database: db.databaseName },
        callsBetween: CALLS_BETWEEN,
        outages: cluster.shards.map(kill),
        inspect: async (use) => use({ store: mongoAdapter(db), violations: await emptyKeys(db) }),
      })
      expect(unavailable).toEqual([])
    })
  }

  it('a call that waits for shards without a primary rejects with DATABASE_UNAVAILABLE, and succeeds later', async () => {
    const store = mongoAdapter(await databaseOf(client, 'sharded by a hashed _id'))
    await store.migrate()
    const at = { bucket: 'files', key: 'a' }
    const input = { scope: 'ann', ...at, declaredSize: 5, expiresAt: new Date('2100-01-01') }
    const row = await store.reserve(input)
    for (const shard of cluster.shards) await shard.kill()
    const calls = [
      store.findPending(at),
      store.listByScope({ scope: 'ann' }),
      store.countByScope('ann'),
      store.getScopeUsage('ann'),
      store.listExpired({ before: new Date() }),
      store.reserve({ ...input, key: 'b' }),
      store.confirm({ ...at, size: 5 }),
    ]
    const results = await Promise.allSettled(calls)
    expect(results).toMatchObject(
      calls.map(() => ({ status: 'rejected', reason: { code: 'DATABASE_UNAVAILABLE', retryable: true } })),
    )
    for (const shard of cluster.shards) await shard.restart()
    expect(await store.findPending(at)).toEqual(row)
  })
})
