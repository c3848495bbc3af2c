import { drizzle } from 'drizzle-orm/postgres-js'
import postgres, { type PostgresType } from 'postgres'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { postgresJsDatabase } from '../../../src/adapters/postgres/connection/postgres-js-database.js'
import { migrate } from '../../../src/adapters/postgres/migrate/migrate.js'
import { schemaName } from '../../../src/adapters/postgres/sql/schema-name.js'
import { SCHEMA, type Schema } from '../../../src/adapters/postgres/sql/schema.js'
import { expectWholeLife } from '../drivers/whole-life.js'
import { attempt } from './attempt.js'
import { describePostgresJs, type InstanceOptions } from './postgres-js.js'
import { dropSchema, freshSchema } from './schemas.js'

const misuse = () => {
  throw new Error('A type of the application was applied to a value of the adapter.')
}
const typeOf = (oid: number): PostgresType => ({ to: oid, from: [oid], serialize: misuse, parse: misuse })
const OIDS = { bool: 16, int8: 20, int4: 23, text: 25, json: 114, timestamptz: 1184, uuid: 2950, jsonb: 3802 }

/** Options of an application that would change parameters and results. */
const OPTIONS: Readonly<Record<string, InstanceOptions>> = {
  'the defaults': {},
  'camel case': { transform: postgres.camel },
  'pascal and kebab case': { transform: { ...postgres.pascal, ...postgres.kebab } },
  'own transforms': {
    transform: { undefined: 'nothing', column: () => 'column', value: () => 'value of the application' },
  },
  'own types': {
    types: Object.fromEntries(Object.entries(OIDS).map(([name, oid]) => [name, typeOf(oid)])),
  },
  BigInt: { types: { bigint: postgres.BigInt } },
  'no prepared statements': { prepare: false },
  'one connection': { max: 1 },
  'no array types': { fetch_types: false },
  'drizzle over it': {},
}

describe('postgresAdapter over postgres.js', () => {
  const noServer = 'postgres://nowhere.invalid'

  it('refuses an instance that transforms rows, because that also changes rows of bytes', () => {
    const message = 'postgresAdapter: transform.row of the postgres instance changes the rows of the adapter.'
    for (const row of [(value: unknown) => value, { from: (value: unknown) => value }]) {
      const sql = postgres(noServer, { transform: { row } })
      expect(() => postgresAdapter(sql)).toThrow(TypeError)
      expect(() => postgresAdapter(sql)).toThrow(message)
      expect(() => postgresAdapter(postgres(noServer), { readPool: sql })).toThrow(message)
    }
  })
})

describePostgresJs('postgresAdapter over postgres.js on a server', ({ schema, pool, open, storeOf }) => {
  it.each(Object.keys(OPTIONS))('passes values unchanged, with %s', async (name) => {
    const own = freshSchema()
    onTestFinished(() => dropSchema(pool, own))
    const sql = open(OPTIONS[name])
    // Replaces types of the instance.
    if (name === 'drizzle over it') drizzle(sql)
    const store = (now?: () => Date) => postgresAdapter(sql, { schema: own, now })
    await expectWholeLife(store, postgresAdapter(pool, { schema: own }))
  })

  it('migrates once for many instances that do so at the same time, without printing notices', async () => {
    const log = vi.spyOn(console, 'log')
    const own = freshSchema()
    const added = { name: 'objects_by_type', definition: 'btree (content_type)', comment: 'By type.' }
    const version = SCHEMA.version + 1
    const later: Schema = {
      ...SCHEMA,
      version,
      tables: SCHEMA.tables.map((table) =>
        table.name === 'objects'
          ? { ...table, indexes: [...table.indexes, { ...added, since: version }] }
          : table,
      ),
    }
    const name = schemaName('migrate', own)
    const migrating = Array.from({ length: 8 }, (_, i) => {
      const database = postgresJsDatabase(open({ max: (i % 2) + 1 }), { named: true })
      // Two calls share an instance, which sends the second query before the first has a response.
      return [migrate(database, name, later), migrate(database, name, later)]
    })
    const results = await Promise.all(migrating.flat())
    expect(results.every(({ to }) => to === version)).toBe(true)
    expect(results.filter(({ from }) => from === 0)).toHaveLength(1)
    expect(log.mock.calls).toEqual([])
    log.mockRestore()
    await dropSchema(pool, own)
  })

  it.each<[string, InstanceOptions, boolean, boolean]>([
    ['by default', {}, true, true],
    ['not with namedStatements: false', {}, false, false],
    ['not with prepare: false', { prepare: false }, true, false],
  ])('prepares its statements, %s', async (name, options, namedStatements, isPrepared) => {
    const sql = open({ ...options, max: 1 })
    const store = postgresAdapter(sql, { schema, namedStatements })
    const row = await store.reserve(attempt(`prepared ${name}`))
    expect(await store.find(row)).toEqual(row)
    const prepared = await sql.unsafe('SELECT statement FROM pg_prepared_statements')
    expect(prepared.some(({ statement }) => String(statement).includes('reserve_v'))).toBe(isPrepared)
  })

  it('leaves the instance open when the store is closed', async () => {
    const sql = open()
    await storeOf(sql).close()
    expect(await sql`SELECT 1 AS one`).toMatchObject([{ one: 1 }])
  })
})
