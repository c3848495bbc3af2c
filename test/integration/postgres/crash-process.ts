import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { serveAsCrashWorker } from '../races/crash-worker.js'

serveAsCrashWorker(async ({ connection, callers }) => {
  const pool = new pg.Pool({ connectionString: connection['url'], max: callers })
  pool.on('error', () => {})
  return {
    store: postgresAdapter(pool, { schema: connection['schema'] }),
    async close() {
      const { totalCount, idleCount, waitingCount } = pool
      await pool.end()
      if (idleCount === totalCount && waitingCount === 0) return
      throw new Error(
        `only ${idleCount} of ${totalCount} connections are idle, and ${waitingCount} callers are waiting`,
      )
    },
  }
})
