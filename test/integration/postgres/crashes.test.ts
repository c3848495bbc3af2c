import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresAdapter } from '../../../src/adapters/postgres/index.js'
import { startPrivateCluster } from '../../servers/private-cluster.js'
import { CRASH_CALLERS, CRASH_PROCESSES, expectNothingLost } from '../races/crash-test.js'
import { freshSchema, poolOf, quoted } from './setup.js'
import { describePrivatePostgres } from './setup.js'

const KILLS = 5
/** Calls that succeed in each process between a start and the next kill. */
const CALLS_BETWEEN = 250

const title = `a server that is killed under ${CRASH_PROCESSES} processes with ${CRASH_CALLERS} connections each`

describePrivatePostgres(title, (programs) => {
  const schema = freshSchema()
  let server: Awaited<ReturnType<typeof startPrivateCluster>>
  beforeAll(async () => {
    server = await startPrivateCluster(programs)
  })
  afterAll(() => server.remove())

  it(
    'loses nothing that was acknowledged, and nobody gets more than is allowed',
    { timeout: 120_000 },
    async () => {
      const { cluster } = server
      const pool = poolOf(cluster.url)
      await postgresAdapter(pool, { schema }).migrate()
      await pool.end()

      const { unanswered } = await expectNothingLost({
        entry: fileURLToPath(new URL('./crash-place.ts', import.meta.url)),
        place: { url: cluster.url, schema },
        callsBetween: CALLS_BETWEEN,
        strikes: Array.from({ length: KILLS }, () => async () => {
          await cluster.kill()
          await cluster.restart()
        }),
        async look(use) {
          // Through a pool of its own: one whose connections broke tells so at their next use.
          const pool = poolOf(cluster.url, { max: 8 })
          const { rows } = await pool.query<{ key: string }>(
            `SELECT key FROM ${quoted(schema)}.objects WHERE status <> 'deleted'
             GROUP BY bucket, key HAVING count(DISTINCT scope) > 1`,
          )
          await use({ store: postgresAdapter(pool, { schema }), wrongs: rows })
          await pool.end()
        },
      })
      // Otherwise the kills met nothing that could be lost.
      expect(unanswered).toBeGreaterThan(KILLS * CRASH_PROCESSES)
    },
  )
})
