import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { serveAsRaceWorker } from '../races/race-worker.js'

serveAsRaceWorker(async ({ place, callers }) => {
  const pool = new pg.Pool({ connectionString: place['url'], max: callers })
  pool.on('error', () => {})
  const store = postgresAdapter(pool, { schema: place['schema'], namedStatements: false })
  return { store, close: () => pool.end() }
})
