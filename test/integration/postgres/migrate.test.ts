import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { postgresAdapter, postgresSchema } from '@svc/db/postgres'
import { readCatalog } from '../../../src/adapters/postgres/schema/catalog.js'
import { migrate } from '../../../src/adapters/postgres/schema/migrate.js'
import { inSchema, schemaName } from '../../../src/adapters/postgres/schema/schema-name.js'
import { STEPS, type MigrationStep } from '../../../src/adapters/postgres/schema/steps.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './places.js'

const NEWEST = STEPS.at(-1)!.version

/** Releases to come: what the next step but one may look like is not known, but each kind is tried. */
const INDEX_STEP: MigrationStep = {
  kind: 'concurrent-index',
  version: NEWEST + 1,
  minCompatible: 1,
  index: 'objects_by_e_tag',
  table: 'objects',
  unique: true,
  definition: '(e_tag) WHERE e_tag IS NOT NULL',
}
const COLUMN_STEP: MigrationStep = {
  kind: 'transaction',
  version: NEWEST + 2,
  minCompatible: 1,
  sql: 'ALTER TABLE {schema}.objects ADD COLUMN colour text',
}
const FUTURE = [...STEPS, INDEX_STEP, COLUMN_STEP]

const named = (schema: string) => schemaName('migrate', schema)

describePostgres('migrate', (url) => {
  const pool = poolOf(url)
  let schema: string
  beforeEach(() => {
    schema = freshSchema()
  })
  afterEach(() => dropSchema(pool, schema))
  afterAll(() => pool.end())

  const database = (own: pg.Pool | pg.Client = pool) => pgDatabase(own, { named: true })
  const takeTo = (steps: readonly MigrationStep[], own: pg.Pool | pg.Client = pool) =>
    migrate(database(own), named(schema), steps)
  const run = (sql: string) => pool.query(inSchema(sql, named(schema)))

  it('makes what verify() looks for, and does nothing more after that', async () => {
    const store = postgresAdapter(pool, { schema })
    expect(await store.verify()).toEqual([expect.stringContaining('migrate()')])
    expect(await store.migrate()).toEqual({ from: 0, to: NEWEST })
    expect(await store.verify()).toEqual([])
    expect(await store.migrate()).toEqual({ from: NEWEST, to: NEWEST })
  })

  it('is the SQL that postgresSchema() gives, which may be run again', async () => {
    const sql = postgresSchema({ schema })
    await pool.query(sql)
    await pool.query(sql)
    expect(await postgresAdapter(pool, { schema }).verify()).toEqual([])
  })

  it('is done once by 16 processes that start at once', async () => {
    const pools = Array.from({ length: 16 }, () => poolOf(url, { max: 1 }))
    // Sessions that have looked for the schema before keep in mind that it wasn't there.
    await Promise.all(pools.map((own) => own.query('SELECT to_regnamespace($1)', [quoted(schema)])))
    const results = await Promise.all(pools.map((own) => postgresAdapter(own, { schema }).migrate()))
    expect(results.filter(({ from }) => from === 0)).toHaveLength(1)
    expect(results.every(({ to }) => to === NEWEST)).toBe(true)
    await Promise.all(pools.map((own) => own.end()))
    expect(await postgresAdapter(pool, { schema }).verify()).toEqual([])
  })

  it('waits for no lock of a table where there is nothing to do', async () => {
    await postgresAdapter(pool, { schema }).migrate()
    const holder = await pool.connect()
    await holder.query('BEGIN')
    await holder.query(`LOCK TABLE ${quoted(schema)}.objects, ${quoted(schema)}.scope_usage`)
    expect(await postgresAdapter(pool, { schema }).migrate()).toEqual({ from: NEWEST, to: NEWEST })
    await holder.query('ROLLBACK')
    holder.release()
  })

  it('comes to the same from every earlier version as from nothing', async () => {
    await takeTo(FUTURE)
    const fresh = await readCatalog(database(), named(schema))
    for (let version = 1; version < FUTURE.length; version++) {
      await dropSchema(pool, schema)
      await takeTo(FUTURE.slice(0, version))
      expect(await takeTo(FUTURE)).toEqual({ from: version, to: FUTURE.length })
      expect(await readCatalog(database(), named(schema))).toEqual(fresh)
    }
  })

  it('ends at the newest version when old and new processes start at once', async () => {
    const pools = Array.from({ length: 12 }, () => poolOf(url, { max: 1 }))
    await Promise.all(
      pools.map((own, i) =>
        takeTo(FUTURE.slice(0, i % 3 === 0 ? STEPS.length : i % 3 === 1 ? NEWEST + 1 : undefined), own),
      ),
    )
    await Promise.all(pools.map((own) => own.end()))
    expect(await takeTo(FUTURE)).toEqual({ from: FUTURE.length, to: FUTURE.length })
    // Older code goes on working, finds nothing missing, and takes nothing back.
    const store = postgresAdapter(pool, { schema })
    expect(await store.migrate()).toEqual({ from: FUTURE.length, to: FUTURE.length })
    expect(await store.verify()).toEqual([])
    await store.reserve({
      scope: 's',
      bucket: 'b',
      key: 'k',
      declaredSize: 1,
      expiresAt: new Date(Date.now() + 1e6),
    })
    expect(await store.countByScope('s')).toBe(1)
  })

  it('builds an index again that an interrupted build has left', async () => {
    await takeTo(STEPS)
    const row = (
      id: number,
    ) => `('0199a000-0000-7000-8000-00000000000${id}', '0199a000-0000-7000-8000-00000000000${id}',
      's', 'b', 'k${id}', 'active', 'same', now(), now(), now())`
    await run(`INSERT INTO {schema}.objects (id, attempt_id, scope, bucket, key, status, e_tag, created_at, updated_at, writable_until)
      VALUES ${row(1)}, ${row(2)}`)
    await expect(takeTo(FUTURE)).rejects.toMatchObject({ code: '23505' })
    await run(`UPDATE {schema}.objects SET e_tag = 'other' WHERE key = 'k2'`)
    await run('UPDATE {schema}.schema_version SET build_claimed_until = NULL')
    expect(await takeTo(FUTURE)).toEqual({ from: NEWEST, to: FUTURE.length })
    expect((await readCatalog(database(), named(schema))).get('index objects_by_e_tag')).not.toContain(
      'not valid',
    )
  })

  it('leaves everything as it was where a step fails', async () => {
    await takeTo(STEPS)
    const before = await readCatalog(database(), named(schema))
    const sql = 'ALTER TABLE {schema}.objects ADD COLUMN colour text; SELECT 1 / 0'
    await expect(takeTo([...STEPS, { ...COLUMN_STEP, version: NEWEST + 1, sql }])).rejects.toMatchObject({
      code: '22012',
    })
    expect(await readCatalog(database(), named(schema))).toEqual(before)
    expect(await takeTo(STEPS)).toEqual({ from: NEWEST, to: NEWEST })
  })

  it('refuses a schema that newer code has made too new, and never goes back', async () => {
    await takeTo(STEPS)
    await run(`UPDATE {schema}.schema_version SET version = ${NEWEST + 5}, min_compatible = ${NEWEST + 1}`)
    const store = postgresAdapter(pool, { schema })
    await expect(store.migrate()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    expect(await store.verify()).toEqual([expect.stringContaining('newer release')])
  })

  it('works whatever isolation level is the default', async () => {
    const own = poolOf(url, { options: '-c default_transaction_isolation=serializable' })
    expect(await takeTo(STEPS, own)).toEqual({ from: 0, to: NEWEST })
    await own.end()
  })

  it('refuses CockroachDB, by what it says of itself', async () => {
    // Stands for a real one: what the server says of itself is taken from a function that is found before its own.
    await pool.query(`CREATE SCHEMA ${quoted(schema)}`)
    const says = 'CockroachDB CCL v24.3.1 (x86_64-pc-linux-gnu, built 2025/01/02, go1.22.8)'
    await run(`CREATE FUNCTION {schema}.version() RETURNS text LANGUAGE sql AS $$ SELECT '${says}' $$`)
    // One connection, because a pool opens another one after an error.
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    await other.query(`SET search_path = ${quoted(schema)}, pg_catalog`)
    expect((await other.query('SELECT version()')).rows).toEqual([{ version: says }])

    await expect(postgresAdapter(other, { schema }).migrate()).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: 'CockroachDB is not supported: its advisory locks lock nothing.',
    })
    await expect(other.query(postgresSchema({ schema }))).rejects.toThrow('CockroachDB is not supported')
    expect((await readCatalog(database(), named(schema))).has('column schema_version.version')).toBe(false)
    await other.end()
  })

  describe('verify finds', () => {
    it('each thing that is missing', async () => {
      await postgresAdapter(pool, { schema }).migrate()
      const store = (client: pg.ClientBase) => postgresAdapter(client, { schema })
      const catalog = await readCatalog(database(), named(schema))
      expect(catalog.size).toBeGreaterThan(60)
      const client = await pool.connect()
      for (const thing of catalog.keys()) {
        if (/table schema_version|column schema_version\.(version|min_compatible)/.test(thing)) continue
        await client.query('BEGIN')
        await client.query(dropping(thing))
        const findings = await store(client).verify()
        await client.query('ROLLBACK')
        expect(findings).toContain(`Missing: ${thing}.`)
      }
      client.release()
    })

    it.each([
      [
        'a column of another type',
        'ALTER TABLE {schema}.leftovers ALTER storage_key TYPE varchar(10)',
        'storage_key',
      ],
      [
        'another collation',
        'ALTER TABLE {schema}.leftovers ALTER key TYPE text COLLATE "POSIX"',
        'leftovers.key',
      ],
      [
        'a default that is gone',
        'ALTER TABLE {schema}.scope_usage ALTER files DROP DEFAULT',
        'scope_usage.files',
      ],
      [
        'another index of that name',
        'DROP INDEX {schema}.objects_by_scope; CREATE INDEX objects_by_scope ON {schema}.objects (scope, id)',
        'objects_by_scope',
      ],
      [
        'another body of a function',
        `CREATE OR REPLACE FUNCTION {schema}.purge_deleted_v1(p_before timestamptz, p_limit int)
         RETURNS TABLE (scope text, dropped bigint) LANGUAGE sql AS 'SELECT NULL::text, 0::bigint'`,
        'purge_deleted_v1',
      ],
      [
        'row security, which would hide the owner of a key',
        'ALTER TABLE {schema}.objects ENABLE ROW LEVEL SECURITY',
        'table objects, permanent, row security, instead of permanent',
      ],
      [
        'a table that a crash would empty',
        'ALTER TABLE {schema}.objects SET UNLOGGED',
        'table objects, not logged',
      ],
      [
        'a rule that does something else instead of a write',
        'CREATE RULE nothing AS ON INSERT TO {schema}.leftovers DO INSTEAD NOTHING',
        'table leftovers, permanent, rules',
      ],
      ['an older version', 'UPDATE {schema}.schema_version SET version = 0', 'migrate()'],
    ])('%s', async (_, damage, named) => {
      await postgresAdapter(pool, { schema }).migrate()
      await run(damage)
      const findings = await postgresAdapter(pool, { schema }).verify()
      expect(findings).toEqual([expect.stringContaining(named)])
    })

    it('nothing where a session has Postgres quote all names', async () => {
      await postgresAdapter(pool, { schema }).migrate()
      const own = poolOf(url, { options: '-c quote_all_identifiers=on' })
      const findings = await postgresAdapter(own, { schema }).verify()
      await own.end()
      expect(findings).toEqual([])
    })

    function dropping(thing: string): string {
      const [kind, ...rest] = thing.split(' ')
      const name = rest.join(' ')
      const place = quoted(schema)
      const table = name.split(/[._]/)[0] === 'schema' ? 'schema_version' : 'objects'
      if (kind === 'table') return `DROP TABLE ${place}.${name} CASCADE`
      if (kind === 'column') return `ALTER TABLE ${place}.${name.replace('.', ' DROP COLUMN ')} CASCADE`
      if (kind === 'function') return `DROP FUNCTION ${place}.${name}`
      if (kind === 'constraint') return `ALTER TABLE ${place}.${table} DROP CONSTRAINT ${name}`
      if (!name.endsWith('_pkey')) return `DROP INDEX ${place}.${name}`
      return `ALTER TABLE ${place}.${name.replace('_pkey', '')} DROP CONSTRAINT ${name}`
    }
  })

  describe('permissions', () => {
    const suffix = schemaSuffix()
    const owner = `owner_${suffix}`
    const worker = `worker_${suffix}`
    const as = (role: string) => {
      const own = new URL(url)
      own.username = role
      own.password = ''
      return poolOf(own.href, { max: 2 })
    }

    afterEach(async () => {
      await dropSchema(pool, schema)
      await pool.query(`DROP ROLE IF EXISTS ${owner}`)
      await pool.query(`DROP ROLE IF EXISTS ${worker}`)
    })

    it('an owner of the schema may migrate; a role with plain rights may work, and check', async () => {
      await pool.query(`CREATE ROLE ${owner} LOGIN`)
      await pool.query(`CREATE ROLE ${worker} LOGIN`)
      await pool.query(`CREATE SCHEMA ${quoted(schema)} AUTHORIZATION ${owner}`)
      const owners = as(owner)
      expect(await postgresAdapter(owners, { schema }).migrate()).toEqual({ from: 0, to: NEWEST })
      await owners.query(`GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${worker}`)
      await owners.query(`GRANT SELECT ON ALL TABLES IN SCHEMA ${quoted(schema)} TO ${worker}`)
      for (const table of ['objects', 'scope_usage', 'leftovers']) {
        await owners.query(`GRANT INSERT, UPDATE, DELETE ON ${quoted(schema)}.${table} TO ${worker}`)
      }
      await owners.end()

      const workers = as(worker)
      const store = postgresAdapter(workers, { schema })
      expect(await store.migrate()).toEqual({ from: NEWEST, to: NEWEST })
      expect(await store.verify()).toEqual([])
      const at = { bucket: 'b', key: 'k' }
      await store.reserve({
        ...at,
        scope: 's',
        declaredSize: 1,
        expiresAt: new Date(Date.now() + 1e6),
        storageKey: 'x',
      })
      await store.confirm({ ...at, size: 1 })
      await store.remove(at)
      expect(await store.countByScope('s', 'deleted')).toBe(1)
      expect(await store.purgeDeleted({ before: new Date() })).toBe(1)
      expect(await store.repairUsage()).toEqual([])
      await workers.end()
    })

    it('a role without rights is told so', async () => {
      await pool.query(`CREATE ROLE ${worker} LOGIN`)
      await postgresAdapter(pool, { schema }).migrate()
      const workers = as(worker)
      const error: unknown = await postgresAdapter(workers, { schema })
        .getScopeUsage('s')
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
      await workers.end()
    })
  })
})

/** Roles belong to the whole server, which other tests use too. */
function schemaSuffix(): string {
  return freshSchema()
    .replace(/[^0-9a-f]/g, '')
    .slice(-12)
}
