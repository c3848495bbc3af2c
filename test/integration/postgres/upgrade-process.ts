import { postgresAdapter } from '@svc/db/postgres'
import pg from 'pg'
import { serveUpgradeProcess } from '../upgrade/process.js'

serveUpgradeProcess(({ url, schema }) => {
  const pool = new pg.Pool({ connectionString: url, max: 8 })
  pool.on('error', () => {})
  return Promise.resolve({ store: postgresAdapter(pool, { schema }), close: () => pool.end() })
})
