import type { StoreDriver } from '@svc/db/adapter'
import { afterAll, beforeAll } from 'vitest'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { createPostgresDriver } from '../../../src/adapters/postgres/driver.js'
import { schemaName } from '../../../src/adapters/postgres/sql/schema-name.js'
import { itNamesTouchedScopes } from '../drivers/touched-scopes.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from './schemas.js'

describePostgres('the driver reports the scopes that a write touched:', (url) => {
  const schema = freshSchema()
  const pool = poolOf(url)
  const database = pgDatabase(pool, { named: true })
  const driver: StoreDriver = createPostgresDriver({
    database,
    readDatabase: database,
    schema: schemaName('postgresAdapter', schema),
  })
  beforeAll(() => driver.migrate())
  afterAll(async () => {
    await dropSchema(pool, schema)
    await pool.end()
  })

  itNamesTouchedScopes(() => driver)
})
