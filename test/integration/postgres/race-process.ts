import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { serveAsRaceWorker } from '../races/race-worker.js'

serveAsRaceWorker(async ({ connection, callers }) => {
  const pool = new pg.Pool({ connectionString: connection['url'], max: callers })
  pool.on('error', () => {})
  const namedStatements = connection['statements'] !== 'unnamed'
  const store = postgresAdapter(pool, { schema: connection['schema'], namedStatements })
  return { store, close: () => pool.end() }
})
