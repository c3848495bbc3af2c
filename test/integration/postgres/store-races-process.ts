import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { runRaceWorker } from '@svc/db/conformance'

runRaceWorker((place) => {
  const { url, schema } = JSON.parse(place) as { url: string; schema: string }
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  return postgresAdapter(pool, { schema })
})
