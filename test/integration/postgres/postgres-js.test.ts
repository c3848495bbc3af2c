import { drizzle } from 'drizzle-orm/postgres-js'
import postgres, { type Options, type PostgresType, type Sql } from 'postgres'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { SCHEMA } from '../../../src/adapters/postgres/sql/schema.js'
import { expectWholeLife } from '../drivers/whole-life.js'
import { attempt } from './attempt.js'
import { describePostgres, poolOf, schemaOfEachTest } from './schemas.js'

type InstanceOptions = Options<Record<string, PostgresType>>

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

describePostgres('postgresAdapter over postgres.js on a server', (url) => {
  const pool = poolOf(url)
  const open = (options: InstanceOptions = {}): Sql => {
    const sql: Sql = postgres(url, options)
    onTestFinished(() => sql.end({ timeout: 0 }))
    return sql
  }
  let schema: string
  schemaOfEachTest(pool, (name) => (schema = name))

  it.each(Object.keys(OPTIONS))('passes values unchanged, with %s', async (name) => {
    const sql = open(OPTIONS[name])
    // Replaces types of the instance.
    if (name === 'drizzle over it') drizzle(sql)
    const store = (now?: () => Date) => postgresAdapter(sql, { schema, now })
    await expectWholeLife(store, postgresAdapter(pool, { schema }))
  })

  it('migrates once for many instances that do so at the same time, without printing notices', async () => {
    const log = vi.spyOn(console, 'log')
    onTestFinished(() => log.mockRestore())
    const migrating = Array.from({ length: 8 }, (_, i) => {
      const store = postgresAdapter(open({ max: (i % 2) + 1 }), { schema })
      // Two calls share an instance, which sends the second query before the first has a response.
      return [store.migrate(), store.migrate()]
    })
    const results = await Promise.all(migrating.flat())
    expect(results.every(({ to }) => to === SCHEMA.version)).toBe(true)
    expect(results.filter(({ from }) => from === 0)).toHaveLength(1)
    expect(log.mock.calls).toEqual([])
  })

  it.each<[string, InstanceOptions, boolean, boolean]>([
    ['by default', {}, true, true],
    ['not with namedStatements: false', {}, false, false],
    ['not with prepare: false', { prepare: false }, true, false],
  ])('prepares its statements, %s, and stays open when the store is closed', async (...row) => {
    const [, options, namedStatements, isPrepared] = row
    const sql = open({ ...options, max: 1 })
    const store = postgresAdapter(sql, { schema, namedStatements })
    await store.migrate()
    await store.reserve(attempt('prepared'))
    await store.close()
    const prepared = await sql.unsafe('SELECT statement FROM pg_prepared_statements')
    expect(prepared.some(({ statement }) => String(statement).includes('reserve_v'))).toBe(isPrepared)
  })
})
