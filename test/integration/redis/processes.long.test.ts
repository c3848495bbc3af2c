import { postgresAdapter } from '@svc/db/postgres'
import { afterAll, expect, it } from 'vitest'
import { startWorkers } from '../races/workers.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from '../postgres/schemas.js'
import { describeRedis, freshPrefix } from './redis-servers.js'
import { LOADED_SCOPES, type LoadReport, type LoadTask } from './usage-load.js'

// Over one database, because the cache works alike over every one.
describeRedis('processes that share Redis', (redis) => {
  describePostgres('over Postgres', (url) => {
    const schema = freshSchema()
    const pool = poolOf(url)
    afterAll(async () => {
      await dropSchema(pool, schema)
      await pool.end()
    })

    it('never return a usage older than a write of any of them, and never exceed a quota', async () => {
      const database = postgresAdapter(pool, { schema })
      await database.migrate()
      const entry = new URL('./load-worker.ts', import.meta.url)
      const load = await startWorkers<LoadTask, LoadReport>(entry, 4, {
        ...{ callers: 4, connection: { kind: 'postgres', url, schema }, redis, prefix: freshPrefix() },
        ...{ ttlSeconds: 60, isReliable: true },
      })
      try {
        await load.untilMore('writes', 30)
        await load.untilMore('hits', 150)
        await load.untilMore('refused', 1)
        const reports = await load.finish()
        expect(reports.flatMap(({ faults }) => faults)).toEqual([])
        expect(reports.map(({ stale }) => stale)).toEqual([0, 0, 0, 0])
      } finally {
        load.stop()
      }
      expect(await database.getScopeUsage('load: a full one')).toMatchObject({
        files: LOADED_SCOPES['load: a full one'],
      })
      expect(await database.checkUsage()).toEqual([])
    })
  })
})
