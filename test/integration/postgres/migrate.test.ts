import pg from 'pg'
import { expect, it } from 'vitest'
import { postgresAdapter, postgresSchema } from '@svc/db/postgres'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { readCatalog } from '../../../src/adapters/postgres/migrate/catalog.js'
import { migrate } from '../../../src/adapters/postgres/migrate/migrate.js'
import { inSchema, schemaName } from '../../../src/adapters/postgres/sql/statement.js'
import { SCHEMA, type Schema } from '../../../src/adapters/postgres/sql/schema.js'
import { describePostgres, inTransaction, poolOf, quoted, schemaOfEachTest } from './schemas.js'

describePostgres('migrate', (url) => {
  const pool = poolOf(url)
  let schema: string
  schemaOfEachTest(pool, (name) => (schema = name))

  const database = (own: pg.Pool | pg.Client = pool) => pgDatabase(own, { named: true })
  const migrateTo = (definition: Schema, own: pg.Pool | pg.Client = pool) =>
    migrate(database(own), schemaName('migrate', schema), definition)
  const catalog = () => readCatalog(database(), schemaName('migrate', schema))
  const run = (sql: string) => pool.query(inSchema(sql, schemaName('migrate', schema)))

  it('waits for no table lock if there is nothing to do', async () => {
    await postgresAdapter(pool, { schema }).migrate()
    await inTransaction(pool, async (holder) => {
      await holder.query(`LOCK TABLE ${quoted(schema)}.objects, ${quoted(schema)}.scope_usage`)
      const result = await postgresAdapter(pool, { schema }).migrate()
      expect(result).toEqual({ from: SCHEMA.version, to: SCHEMA.version })
    })
  })

  it('changes nothing if it fails', async () => {
    await migrateTo(SCHEMA)
    const before = await catalog()
    const functions = `${SCHEMA.functions}; ALTER TABLE {schema}.objects ADD COLUMN colour text; SELECT 1 / 0`
    const failing: Schema = { ...SCHEMA, version: SCHEMA.version + 1, functions }
    await expect(migrateTo(failing)).rejects.toMatchObject({ code: '22012' })
    expect(await catalog()).toEqual(before)
    expect(await migrateTo(SCHEMA)).toEqual({ from: SCHEMA.version, to: SCHEMA.version })
  })

  it('refuses a schema that newer code made incompatible, and never downgrades it', async () => {
    await migrateTo(SCHEMA)
    const [version, minCompatible] = [SCHEMA.version + 5, SCHEMA.version + 1]
    await run(`UPDATE {schema}.schema_version SET version = ${version}, min_compatible = ${minCompatible}`)
    const store = postgresAdapter(pool, { schema })
    await expect(store.migrate()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: false })
    expect(await store.verify()).toEqual([expect.stringContaining('newer release')])
  })

  it('works with any default isolation level', async () => {
    const own = poolOf(url, { options: '-c default_transaction_isolation=serializable' })
    expect(await migrateTo(SCHEMA, own).finally(() => own.end())).toEqual({ from: 0, to: SCHEMA.version })
  })

  it('refuses CockroachDB by its version text', async () => {
    // Simulates CockroachDB with a version() function that precedes the built-in one in the search_path.
    await pool.query(`CREATE SCHEMA ${quoted(schema)}`)
    const version = 'CockroachDB CCL v24.3.1 (x86_64-pc-linux-gnu, built 2025/01/02, go1.22.8)'
    await run(`CREATE FUNCTION {schema}.version() RETURNS text LANGUAGE sql AS $$ SELECT '${version}' $$`)
    // A single client, because a pool would open a new connection after an error.
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      await client.query(`SET search_path = ${quoted(schema)}, pg_catalog`)
      expect((await client.query('SELECT version()')).rows).toEqual([{ version }])
      await expect(postgresAdapter(client, { schema }).migrate()).rejects.toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        retryable: false,
        message: 'CockroachDB is not supported because its advisory locks have no effect.',
      })
      await expect(client.query(postgresSchema({ schema }))).rejects.toThrow('CockroachDB is not supported')
      expect((await catalog()).has('column schema_version.version')).toBe(false)
    } finally {
      await client.end()
    }
  })
})
