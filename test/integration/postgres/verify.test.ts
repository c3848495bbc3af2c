import { expect, it } from 'vitest'
import { postgresAdapter, postgresSchema } from '@svc/db/postgres'
import { pgDatabase } from '../../../src/adapters/postgres/connection/pg-database.js'
import { readCatalog } from '../../../src/adapters/postgres/migrate/catalog.js'
import { inSchema, schemaName } from '../../../src/adapters/postgres/sql/statement.js'
import { describePostgres, dropSchema, inTransaction, poolOf, quoted, schemaOfEachTest } from './schemas.js'

describePostgres('verify', (url) => {
  const pool = poolOf(url)
  let schema: string
  schemaOfEachTest(pool, async (name) => {
    schema = name
    await postgresAdapter(pool, { schema }).migrate()
  })

  it('finds every object that is missing', async () => {
    const catalog = await readCatalog(pgDatabase(pool, { named: true }), schemaName('verify', schema))
    expect(catalog.size).toBeGreaterThan(60)
    for (const name of catalog.keys()) {
      if (/table schema_version|column schema_version\.(version|min_compatible)/.test(name)) continue
      await inTransaction(pool, async (client) => {
        await client.query(dropping(name))
        expect(await postgresAdapter(client, { schema }).verify()).toContain(`Missing: ${name}.`)
      })
    }
  })

  it.each([
    [
      'a column of another type',
      'ALTER TABLE {schema}.leftovers ALTER upload_id TYPE varchar(10)',
      'upload_id',
    ],
    [
      'another collation',
      'ALTER TABLE {schema}.leftovers ALTER upload_id TYPE text COLLATE "POSIX"',
      'leftovers.upload_id',
    ],
    ['a missing default', 'ALTER TABLE {schema}.scope_usage ALTER files DROP DEFAULT', 'scope_usage.files'],
    [
      'an index with other columns',
      'DROP INDEX {schema}.objects_by_scope; CREATE INDEX objects_by_scope ON {schema}.objects (scope, id)',
      'objects_by_scope',
    ],
    [
      'another function body',
      `CREATE OR REPLACE FUNCTION {schema}.purge_deleted_v1(p_before timestamptz, p_limit int)
       RETURNS TABLE (scope text, dropped bigint) LANGUAGE sql AS 'SELECT NULL::text, 0::bigint'`,
      'purge_deleted_v1',
    ],
    [
      'a function without its settings, which would keep plans of small tables',
      'ALTER FUNCTION {schema}.write_batch_v2(text, json) RESET ALL',
      'function write_batch_v2(text, json) has another body or other settings',
    ],
    [
      'row security, which would hide the owner of a key',
      'ALTER TABLE {schema}.objects ENABLE ROW LEVEL SECURITY',
      'Row security is on for the table objects',
    ],
    [
      'an unlogged table, which a crash would empty',
      'ALTER TABLE {schema}.objects SET UNLOGGED',
      'table objects must be permanent (got not logged)',
    ],
    [
      'a rule that replaces a write',
      'CREATE RULE nothing AS ON INSERT TO {schema}.leftovers DO INSTEAD NOTHING',
      'table leftovers must be permanent (got permanent, rules)',
    ],
    ['an older version', 'UPDATE {schema}.schema_version SET version = 0', 'migrate()'],
  ])('finds %s', async (_, damage, expected) => {
    await pool.query(inSchema(damage, schemaName('verify', schema)))
    const findings = await postgresAdapter(pool, { schema }).verify()
    expect(findings).toEqual([expect.stringContaining(expected)])
  })

  it('finds a server that is read-only, before the first migration too', async () => {
    const own = poolOf(url, { options: '-c default_transaction_read_only=on' })
    const finding = expect.stringContaining('default_transaction_read_only is on') as string
    expect(await postgresAdapter(own, { schema }).verify()).toEqual([finding])
    const missing = expect.stringContaining('was never migrated') as string
    expect(await postgresAdapter(own, { schema: 'elsewhere' }).verify()).toEqual([missing, finding])
    await own.end()
  })

  it('finds nothing in a session with quote_all_identifiers', async () => {
    const own = poolOf(url, { options: '-c quote_all_identifiers=on' })
    const findings = await postgresAdapter(own, { schema }).verify()
    await own.end()
    expect(findings).toEqual([])
  })

  it('finds nothing if a migration tool has changed comments and white space of functions', async () => {
    // knex.raw() would take a question mark for a parameter.
    const sql = postgresSchema({ schema, events: true })
    expect(sql).not.toContain('?')
    await dropSchema(pool, schema)
    await pool.query(sql.replace(/--.*$/gm, '--').replace(/^ +/gm, '\t').replaceAll('\n', '\r\n'))
    expect(await postgresAdapter(pool, { schema }).verify()).toEqual([])
  })

  function dropping(object: string): string {
    const [kind, ...rest] = object.split(' ')
    const name = rest.join(' ')
    const prefix = quoted(schema)
    const table = name.split(/[._]/)[0] === 'schema' ? 'schema_version' : 'objects'
    if (kind === 'table') return `DROP TABLE ${prefix}.${name} CASCADE`
    if (kind === 'column') return `ALTER TABLE ${prefix}.${name.replace('.', ' DROP COLUMN ')} CASCADE`
    if (kind === 'type') return `DROP TYPE ${prefix}.${name}`
    if (kind === 'function') return `DROP FUNCTION ${prefix}.${name}`
    if (kind === 'constraint') return `ALTER TABLE ${prefix}.${table} DROP CONSTRAINT ${name}`
    if (!name.endsWith('_pkey')) return `DROP INDEX ${prefix}.${name}`
    return `ALTER TABLE ${prefix}.${name.replace('_pkey', '')} DROP CONSTRAINT ${name}`
  }
})
