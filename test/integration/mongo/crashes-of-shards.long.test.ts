import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { expectNothingLost } from '../races/crash-test.js'
import { lostLeftovers } from '../races/leftover-program.js'
import type { OwedAttempt } from '../races/race.js'
import { raceProcesses } from '../races/run-race.js'
import type { Member } from '../../servers/mongod.js'
import type { ShardedCluster } from '../../servers/sharded-cluster.js'
import { emptyKeys } from './databases.js'
import { databaseOf, LAYOUTS, routerReason, startCluster } from './sharded-databases.js'

const PROCESSES = 4
const CALLERS = 8
/** `RACE_SECONDS` makes the race longer, to look for rare failures. */
const MILLISECONDS = Number(process.env['RACE_SECONDS'] ?? 4) * 1000
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
      const processes = await raceProcesses(fileURLToPath(new URL('./race-process.ts', import.meta.url)))
      try {
        const owed: OwedAttempt[] = []
        // A busy server ends few attempts in one race.
        while (owed.length <= LEAST_OWED) {
          const report = await processes.race(PROCESSES, {
            program: 'leftovers',
            callers: CALLERS,
            milliseconds: MILLISECONDS,
            connection: { url: cluster.url, database: db.databaseName },
          })
          if (process.env['RACE_SECONDS']) console.log({ ...report, owed: report.owed.length })
          expect(report.faults).toEqual([])
          owed.push(...report.owed)
        }
        expect(await lostLeftovers(store, owed)).toEqual([])
        expect(await emptyKeys(db)).toEqual([])
        expect(await store.checkUsage()).toEqual([])
      } finally {
        processes.remove()
      }
    })

    it(`no acknowledged write is lost when a shard is killed, ${layout}`, async () => {
      const db = await databaseOf(client, layout)
      await mongoAdapter(db).migrate()
      const kill = (shard: Member) => async () => {
        await shard.kill()
        await shard.restart()
      }
      const { unavailable } = await expectNothingLost({
        entry: fileURLToPath(new URL('./crash-process.ts', import.meta.url)),
        connection: { url: cluster.url, database: db.databaseName },
        callsBetween: CALLS_BETWEEN,
        outages: cluster.shards.map(kill),
        inspect: async (use) => use({ store: mongoAdapter(db), violations: await emptyKeys(db) }),
      })
      expect(unavailable).toBe(0)
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
