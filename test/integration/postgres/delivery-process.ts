import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { serveAsDeliveryProcess } from '../races/delivery-process.js'

serveAsDeliveryProcess((connection) => {
  const pool = new pg.Pool({ connectionString: connection['url'], max: 4 })
  pool.on('error', () => {})
  return { store: postgresAdapter(pool, { schema: connection['schema'] }), close: () => pool.end() }
})
