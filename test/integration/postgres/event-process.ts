import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { serveAsEventWorker } from '../races/event-worker.js'

serveAsEventWorker(({ connection, writers, claimers }) => {
  const pool = new pg.Pool({ connectionString: connection['url'], max: writers + claimers })
  pool.on('error', () => {})
  return {
    open: (now) => postgresAdapter(pool, { schema: connection['schema'], now }),
    close: () => pool.end(),
  }
})
