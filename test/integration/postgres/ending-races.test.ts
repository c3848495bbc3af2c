import { postgresAdapter } from '@svc/db/postgres'
import { describeEndingRaces } from '../../unit/server/describe-ending-races.js'
import { describePostgres, migratedSchema, poolOf, quoted } from './schemas.js'

describePostgres('a server with postgresAdapter', (url) => {
  const pool = poolOf(url)
  const schema = migratedSchema(pool)

  describeEndingRaces(10, async (now) => {
    const tables = ['objects', 'leftovers', 'scope_usage'].map((name) => `${quoted(schema)}.${quoted(name)}`)
    await pool.query(`TRUNCATE ${tables.join(', ')}`)
    return postgresAdapter(pool, { schema, now })
  })
})
