import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { startPrivateCluster } from '../../servers/private-cluster.js'
import { differencesFrom } from '../races/crash-load.js'
import { startCrashRace, type CrashRace } from '../races/crash-race.js'
import { HOT_SCOPES } from '../races/programs.js'
import { freshSchema, poolOf, quoted } from './places.js'
import { describePrivatePostgres } from './private-places.js'

const PROCESSES = 4
const CALLERS = 16
const KILLS = 5
/** Calls that succeed in each process between a start and the next kill. */
const CALLS_BETWEEN = 250

describePrivatePostgres('a server that is killed under 4 processes with 16 connections each', (programs) => {
  const schema = freshSchema()
  let server: Awaited<ReturnType<typeof startPrivateCluster>>
  let race: CrashRace | undefined
  beforeAll(async () => {
    server = await startPrivateCluster(programs)
  })
  afterAll(async () => {
    race?.stop()
    await server.remove()
  })

  it(
    'loses nothing that was acknowledged, and nobody gets more than is allowed',
    { timeout: 120_000 },
    async () => {
      const { cluster } = server
      const pool = poolOf(cluster.url)
      const store = postgresAdapter(pool, { schema })
      await store.migrate()
      const place = { url: cluster.url, schema }
      const entry = fileURLToPath(new URL('./crash-place.ts', import.meta.url))

      race = await startCrashRace(entry, PROCESSES, { callers: CALLERS, place })
      for (let kill = 0; kill < KILLS; kill++) {
        await race.untilAcknowledged(CALLS_BETWEEN)
        await cluster.kill()
        await cluster.restart()
        await expectNobodyHasTooMuch()
      }
      await race.untilAcknowledged(CALLS_BETWEEN)
      await expectNobodyHasTooMuch()
      const { faults, acknowledged, refused, unanswered, ends, memories } = await race.finish()

      expect(faults).toEqual([])
      expect(await differencesFrom(memories, store)).toEqual([])
      expect(new Set(ends).size).toBe(ends.length)
      await expectNobodyHasTooMuch()
      expect(await store.checkUsage()).toEqual([])
      // Otherwise the kills met nothing that could be lost.
      expect(unanswered).toBeGreaterThan(KILLS * PROCESSES)
      expect(refused).toBeGreaterThan(0)
      expect(acknowledged).toBeGreaterThan(KILLS * PROCESSES * CALLS_BETWEEN)
      await pool.end()

      async function expectNobodyHasTooMuch() {
        // Through a pool of its own: one whose connections broke tells so at their next use.
        const pool = poolOf(cluster.url, { max: 1 })
        const store = postgresAdapter(pool, { schema })
        const { rows } = await pool.query<{ key: string }>(
          `SELECT key FROM ${quoted(schema)}.objects WHERE status <> 'deleted'
           GROUP BY bucket, key HAVING count(DISTINCT scope) > 1`,
        )
        expect(rows).toEqual([])
        for (const [scope, limits] of Object.entries(HOT_SCOPES)) {
          const { bytes, files, reservedBytes, reservedFiles } = await store.getScopeUsage(scope)
          const { maxBytes, maxFiles } = { maxBytes: Infinity, maxFiles: Infinity, ...limits }
          expect(bytes + reservedBytes).toBeLessThanOrEqual(maxBytes)
          expect(files + reservedFiles).toBeLessThanOrEqual(maxFiles)
        }
        await pool.end()
      }
    },
  )
})
