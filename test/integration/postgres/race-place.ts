import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { serveAsRaceWorker } from '../races/race-worker.js'

serveAsRaceWorker(async ({ place, callers }) => {
  const pool = new pg.Pool({ connectionString: place['url'], max: callers })
  pool.on('error', () => {})
  return { store: postgresAdapter(pool, { schema: place['schema'] }), close: () => pool.end() }
})
