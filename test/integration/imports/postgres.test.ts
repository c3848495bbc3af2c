import { postgresAdapter } from '@svc/db/postgres'
import { afterAll, it } from 'vitest'
import { describePostgres, dropSchema, freshSchema, poolOf } from '../postgres/schemas.js'
import { expectTwoImportsToAgree } from './two-imports.js'

describePostgres('importObjects on Postgres', (url) => {
  const schema = freshSchema()
  const pool = poolOf(url)
  afterAll(async () => {
    await dropSchema(pool, schema)
    await pool.end()
  })

  it('records every file once, if two run at once and one is stopped', async () => {
    const [one, other] = [postgresAdapter(pool, { schema }), postgresAdapter(pool, { schema })]
    await one.migrate()
    await expectTwoImportsToAgree([one, other])
  })
})
