import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { startPrivateCluster } from '../../servers/private-cluster.js'
import { CRASH_CALLERS, CRASH_PROCESSES, expectNothingLost } from '../races/crash-test.js'
import { runs } from '../../long-runs.js'
import { describePrivatePostgres, freshSchema, poolOf, quoted } from './schemas.js'

const KILLS = runs(3, 10)
/** Calls that each process must complete between a start and the next kill. */
const CALLS_BETWEEN = 250

const title = `${CRASH_PROCESSES} processes with ${CRASH_CALLERS} connections each, while the server is killed ${KILLS} times`

describePrivatePostgres(title, (programs) => {
  const schema = freshSchema()
  let server: Awaited<ReturnType<typeof startPrivateCluster>>
  beforeAll(async () => {
    server = await startPrivateCluster(programs)
  })
  afterAll(() => server.remove())

  it('lose no acknowledged write and exceed no quota', { timeout: 240_000 }, async () => {
    const { cluster } = server
    const pool = poolOf(cluster.url)
    await postgresAdapter(pool, { schema }).migrate()
    await pool.end()

    const { unavailable } = await expectNothingLost({
      entry: fileURLToPath(new URL('./crash-process.ts', import.meta.url)),
      connection: { url: cluster.url, schema },
      callsBetween: CALLS_BETWEEN,
      outages: Array.from({ length: KILLS }, () => async () => {
        await cluster.kill()
        await cluster.restart()
      }),
      async inspect(use) {
        // Uses a new pool, because the connections of an older one may be broken.
        const pool = poolOf(cluster.url, { max: 8 })
        const { rows } = await pool.query<{ key: string }>(
          `SELECT key FROM ${quoted(schema)}.objects WHERE status <> 'deleted'
             GROUP BY bucket, key HAVING count(DISTINCT scope) > 1`,
        )
        await use({ store: postgresAdapter(pool, { schema }), violations: rows })
        await pool.end()
      },
    })
    // Otherwise the kills hit an idle server.
    expect(unavailable).toBeGreaterThan(KILLS * CRASH_PROCESSES)
  })
})
