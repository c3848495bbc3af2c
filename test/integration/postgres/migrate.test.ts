import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { postgresAdapter, postgresSchema } from '@svc/db/postgres'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { readCatalog } from '../../../src/adapters/postgres/migrate/catalog.js'
import { migrate } from '../../../src/adapters/postgres/migrate/migrate.js'
import { inSchema, schemaName } from '../../../src/adapters/postgres/sql/schema-name.js'
import { SCHEMA, type Schema } from '../../../src/adapters/postgres/sql/schema.js'
import { schemaOfVersion15 } from './version-1-5.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

describePostgres('migrate', (url) => {
  const pool = poolOf(url)
  let schema: string
  beforeEach(() => {
    schema = freshSchema()
  })
  afterEach(() => dropSchema(pool, schema))
  afterAll(() => pool.end())

  const database = (own: pg.Pool | pg.Client = pool) => pgDatabase(own, { named: true })
  const migrateTo = (definition: Schema, own: pg.Pool | pg.Client = pool) =>
    migrate(database(own), schemaName('migrate', schema), definition)
  const catalog = () => readCatalog(database(), schemaName('migrate', schema))
  const run = (sql: string) => pool.query(inSchema(sql, schemaName('migrate', schema)))

  it('creates everything that verify() checks, and does nothing the second time', async () => {
    const store = postgresAdapter(pool, { schema })
    expect(await store.verify()).toEqual([expect.stringContaining('migrate()')])
    expect(await store.migrate()).toEqual({ from: 0, to: SCHEMA.version })
    expect(await store.verify()).toEqual([])
    expect(await store.migrate()).toEqual({ from: SCHEMA.version, to: SCHEMA.version })
  })

  it('does the same as the SQL of postgresSchema(), which may run twice', async () => {
    const sql = postgresSchema({ schema })
    await pool.query(sql)
    await pool.query(sql)
    expect(await postgresAdapter(pool, { schema }).verify()).toEqual([])
  })

  it('migrates once if 16 processes call it at the same time', async () => {
    const pools = Array.from({ length: 16 }, () => poolOf(url, { max: 1 }))
    // A session that has looked for the schema before caches that it does not exist.
    await Promise.all(pools.map((own) => own.query('SELECT to_regnamespace($1)', [quoted(schema)])))
    const results = await Promise.all(pools.map((own) => postgresAdapter(own, { schema }).migrate()))
    expect(results.filter(({ from }) => from === 0)).toHaveLength(1)
    expect(results.every(({ to }) => to === SCHEMA.version)).toBe(true)
    await Promise.all(pools.map((own) => own.end()))
    expect(await postgresAdapter(pool, { schema }).verify()).toEqual([])
  })

  it('waits for no table lock if there is nothing to do', async () => {
    await postgresAdapter(pool, { schema }).migrate()
    const holder = await pool.connect()
    try {
      await holder.query('BEGIN')
      await holder.query(`LOCK TABLE ${quoted(schema)}.objects, ${quoted(schema)}.scope_usage`)
      const result = await postgresAdapter(pool, { schema }).migrate()
      expect(result).toEqual({ from: SCHEMA.version, to: SCHEMA.version })
    } finally {
      await holder.query('ROLLBACK')
      holder.release()
    }
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
    try {
      expect(await migrateTo(SCHEMA, own)).toEqual({ from: 0, to: SCHEMA.version })
    } finally {
      await own.end()
    }
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

  describe('permissions', () => {
    // Roles belong to the whole server, which other tests use too.
    const suffix = freshSchema()
      .replace(/[^0-9a-f]/g, '')
      .slice(-12)
    const owner = `owner_${suffix}`
    const worker = `worker_${suffix}`

    async function asRole(role: string, use: (pool: pg.Pool) => Promise<void>): Promise<void> {
      const roleUrl = new URL(url)
      roleUrl.username = role
      roleUrl.password = ''
      const own = poolOf(roleUrl.href, { max: 2 })
      try {
        await use(own)
      } finally {
        await own.end()
      }
    }

    afterEach(async () => {
      await dropSchema(pool, schema)
      await pool.query(`DROP ROLE IF EXISTS ${owner}`)
      await pool.query(`DROP ROLE IF EXISTS ${worker}`)
    })

    it('lets the owner of the schema migrate, and a role with the grants of version 1.5 do everything else', async () => {
      await pool.query(`CREATE ROLE ${owner} LOGIN`)
      await pool.query(`CREATE ROLE ${worker} LOGIN`)
      await pool.query(`CREATE SCHEMA ${quoted(schema)} AUTHORIZATION ${owner}`)
      await asRole(owner, async (owners) => {
        await owners.query(schemaOfVersion15(schema))
        await owners.query(`GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${worker}`)
        await owners.query(`GRANT SELECT ON ALL TABLES IN SCHEMA ${quoted(schema)} TO ${worker}`)
        for (const table of ['objects', 'scope_usage', 'leftovers']) {
          await owners.query(`GRANT INSERT, UPDATE, DELETE ON ${quoted(schema)}.${table} TO ${worker}`)
        }
        expect(await postgresAdapter(owners, { schema }).migrate()).toEqual({ from: 1, to: SCHEMA.version })
      })

      await asRole(worker, async (workers) => {
        const store = postgresAdapter(workers, { schema })
        expect(await store.migrate()).toEqual({ from: SCHEMA.version, to: SCHEMA.version })
        expect(await store.verify()).toEqual([])
        const reference = { bucket: 'b', key: 'k' }
        const expiresAt = new Date(Date.now() + 1e6)
        await store.reserve({ ...reference, scope: 's', declaredSize: 1, expiresAt, storageKey: 'x' })
        await store.confirm({ ...reference, size: 1 })
        await store.remove(reference)
        expect(await store.countByScope('s', 'deleted')).toBe(1)
        expect(await store.purgeDeleted({ scope: 's', before: new Date() })).toBe(1)
        const [leftover] = await store.listLeftovers({ scope: 's', dueBefore: new Date() })
        expect(await store.deferLeftover({ ...leftover!, until: expiresAt })).toBe(true)
        expect(await store.repairUsage()).toEqual([])
      })
    })

    it('reports DATABASE_UNAVAILABLE to a role without grants', async () => {
      await pool.query(`CREATE ROLE ${worker} LOGIN`)
      await postgresAdapter(pool, { schema }).migrate()
      await asRole(worker, async (workers) => {
        await expect(postgresAdapter(workers, { schema }).getScopeUsage('s')).rejects.toMatchObject({
          code: 'DATABASE_UNAVAILABLE',
          retryable: false,
        })
      })
    })
  })
})
