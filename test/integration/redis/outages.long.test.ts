import { postgresAdapter } from '@svc/db/postgres'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startRedis, type PrivateRedis } from '../../servers/redis.js'
import { startWorkers, type Workers } from '../races/workers.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from '../postgres/schemas.js'
import { clientOf, describePrivateRedis, freshPrefix } from './redis-servers.js'
import { LOADED_SCOPES, type LoadReport, type LoadTask } from './usage-load.js'

const PROCESSES = 4
const CALLERS = 4
const TTL_SECONDS = 1

// Over one database, because the cache handles outages alike over every one.
describePrivateRedis('processes during outages of Redis', (program) => {
  describePostgres('over Postgres', (url) => {
    const schema = freshSchema()
    const pool = poolOf(url)
    const database = postgresAdapter(pool, { schema })
    let redis: PrivateRedis
    let client: ReturnType<typeof clientOf>
    let load: Workers<LoadReport> | undefined
    beforeAll(async () => {
      await database.migrate()
      redis = await startRedis(program)
      client = clientOf(redis.url)
      const entry = new URL('./load-worker.ts', import.meta.url)
      load = await startWorkers<LoadTask, LoadReport>(entry, PROCESSES, {
        ...{ callers: CALLERS, connection: { kind: 'postgres', url, schema }, redis: redis.url },
        ...{ prefix: freshPrefix(), ttlSeconds: TTL_SECONDS, isReliable: false },
      })
    })
    afterAll(async () => {
      load?.stop()
      client.disconnect()
      await redis.stop()
      await dropSchema(pool, schema)
      await pool.end()
    })

    /** Expects that every process reads and writes, whatever the state of Redis. */
    async function expectProgress(): Promise<void> {
      await load!.untilMore('writes', 3)
      await load!.untilMore('reads', 40)
    }
    const untilUsed = () => load!.untilMore('hits', 20)

    it('continue without a Redis that is killed, report it, and use it again after its restart', async () => {
      await untilUsed()
      await redis.kill()
      await load!.untilMore('errors', 1)
      await expectProgress()
      await redis.restart()
      await untilUsed()
    })

    it('continue without a Redis that hangs, report it, and use it again when it responds', async () => {
      await redis.halt()
      await load!.untilMore('errors', 1)
      await expectProgress()
      await redis.resume()
      await untilUsed()
    })

    it('refill a Redis that is flushed', async () => {
      for (let time = 0; time < 5; time++) {
        await client.flushall()
        await load!.untilMore('reads', 10)
      }
      await untilUsed()
    })

    it('continue without a Redis that is out of memory, report it, and use it again', async () => {
      await client.config('SET', 'maxmemory', '1')
      await client.flushall()
      await load!.untilMore('errors', 1)
      await expectProgress()
      await client.config('SET', 'maxmemory', '0')
      await untilUsed()
    })

    // The copy contains the marks of the writes in progress. Until they expire after two minutes, the usages of their scopes
    // are not cached, so this doesn't wait until the processes use Redis again.
    it('continue with a Redis that is restored from old data', async () => {
      await untilUsed()
      await redis.backUp()
      await load!.untilMore('writes', 1)
      await redis.killAndRestore()
      await redis.restart()
      await expectProgress()
    })

    it('see no error during all of that, and no usage that is older than the lifetime', async () => {
      await load!.untilMore('refused', 1)
      const reports = await load!.finish()
      expect(reports.flatMap(({ faults }) => faults)).toEqual([])
      const full = await database.getScopeUsage('load: a full one')
      expect(full.files).toBe(LOADED_SCOPES['load: a full one'])
      expect(await database.checkUsage()).toEqual([])
    })
  })
})
