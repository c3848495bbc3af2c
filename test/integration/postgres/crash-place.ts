import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { serveAsCrashWorker } from '../races/crash-worker.js'

serveAsCrashWorker(async ({ place, callers }) => {
  const pool = new pg.Pool({ connectionString: place['url'], max: callers })
  pool.on('error', () => {})
  return {
    store: postgresAdapter(pool, { schema: place['schema'] }),
    async close() {
      const { totalCount, idleCount, waitingCount } = pool
      await pool.end()
      if (idleCount === totalCount && waitingCount === 0) return
      throw new Error(`of ${totalCount} connections ${idleCount} are idle, and ${waitingCount} callers wait`)
    },
  }
})
