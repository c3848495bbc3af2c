import { afterAll, beforeAll } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { itKeepsWhatWasKept } from '../../unit/server/temporary-property.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

describePostgres('processes with postgresAdapter', (url) => {
  const pool = poolOf(url)
  const schema = freshSchema()
  beforeAll(() => postgresAdapter(pool, { schema, events: true }).migrate())
  afterAll(async () => {
    await dropSchema(pool, schema)
    await pool.end()
  })

  itKeepsWhatWasKept(async () => {
    const { rows } = await pool.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1 AND table_name <> 'schema_version'`,
      [schema],
    )
    await pool.query(rows.map(({ name }) => `DELETE FROM ${quoted(schema)}.${quoted(name)}`).join(';'))
    return (now) => postgresAdapter(pool, { schema, now, events: true })
  }, 60)
})
