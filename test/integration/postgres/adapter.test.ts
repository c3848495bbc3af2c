import 'reflect-metadata'
import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import postgres from 'postgres'
import { DataSource } from 'typeorm'
import { describe, expect, it, vi } from 'vitest'
import { postgresAdapter, postgresSchema, type PostgresPool, type PostgresQuery } from '@svc/db/postgres'
import { SCHEMA } from '../../../src/adapters/postgres/sql/schema.js'
import { attempt } from './attempt.js'
import { describePostgres, dropSchema, poolOf, quoted, schemaOfEachTest } from './schemas.js'

describe('postgresAdapter', () => {
  const pool = new pg.Pool({ connectionString: 'postgres://nowhere.invalid' })

  const untyped = (value: unknown) => value as never

  const dataSource = new DataSource({ type: 'postgres', url: 'postgres://nowhere.invalid' })

  it.each<[string, unknown, string]>([
    ['a DataSource of TypeORM', dataSource, 'an instance of DataSource'],
    ['a QueryRunner of TypeORM', dataSource.createQueryRunner(), 'an instance of PostgresQueryRunner'],
    ['a database of drizzle', drizzle(pool), 'an instance of NodePgDatabase'],
    ['the function of postgres.js', postgres, 'a function'],
    ['a class', pg.Pool, 'a function'],
    ['a Promise', Promise.resolve(pool), 'an instance of Promise'],
    ['an object with one method of a pool', { query: () => {} }, 'an object'],
    [
      'an object with the methods of pg-promise and slonik',
      { query() {}, connect() {}, one() {} },
      'an object',
    ],
    ['a URL, which can contain a password', 'postgres://user:secret@host/db', 'a string'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
  ])('refuses %s as a pool', (_what, handle, got) => {
    const accepted = 'a pool or client of pg, an instance of postgres (postgres.js), or a PGlite database'
    const refusal = (must: string) =>
      new TypeError(`postgresAdapter: ${must}: see docs/your-orm.md (got ${got}).`)
    expect(() => postgresAdapter(untyped(handle))).toThrow(
      refusal(`pool must be ${accepted}, or a function that returns one of them`),
    )
    // Left out, it is the pool.
    if (handle != null) {
      expect(() => postgresAdapter(pool, { readPool: untyped(handle) })).toThrow(
        refusal(`readPool must be ${accepted}`),
      )
    }
  })

  it('rejects calls while its function returns no pool, or something else', async () => {
    for (const nothing of [undefined, null]) {
      const early = postgresAdapter(() => nothing).ping()
      await expect(early).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true })
    }
    await expect(postgresAdapter(untyped(async () => Promise.resolve(pool))).ping()).rejects.toThrow(
      new TypeError(
        'postgresAdapter: the function must return a pool or client of pg, an instance of postgres (postgres.js), ' +
          'or a PGlite database: see docs/your-orm.md (got an instance of Promise).',
      ),
    )
  })

  it.each([
    [{ namedStatements: 'no' }, 'namedStatements must be true or false (got "no").'],
    [{ now: new Date(0) }, 'now must be a function (got an object).'],
    [{ events: 'yes' }, 'events must be true or false (got "yes").'],
    [{ schema: 7 }, 'schema must be a string (got 7).'],
    [{ schema: 'pg_mine' }, 'schema must not begin with "pg_", which Postgres reserves (got "pg_mine").'],
    ['files', 'the options must be an object (got "files").'],
  ])('refuses the options %o with a message that names the option', (options, message) => {
    expect(() => postgresAdapter(pool, untyped(options))).toThrow(
      new TypeError(`postgresAdapter: ${message}`),
    )
  })

  it.each(['', 'a\0b', 'cash$', 'back\\slash', 'pg_mine', 'x'.repeat(64), 'é'.repeat(32), '\ud800'])(
    'refuses %o as a schema',
    (schema) => {
      expect(() => postgresAdapter(pool, { schema })).toThrow(TypeError)
      expect(() => postgresSchema({ schema })).toThrow(TypeError)
    },
  )

  it('opens no connection before the first call', async () => {
    postgresAdapter(pool)
    expect(pool.totalCount).toBe(0)
    await pool.end()
  })
})

describePostgres('postgresAdapter on a server', (url) => {
  const pool = poolOf(url)
  let schema: string
  schemaOfEachTest(pool, (name) => (schema = name))

  it('treats null like an omitted option', async () => {
    const store = postgresAdapter(pool, { schema, readPool: null, namedStatements: null, now: null })
    expect(await store.migrate()).toEqual({ from: 0, to: SCHEMA.version })
    const row = await store.reserve(attempt('key'))
    expect(await store.listByScope({ scope: 'scope' })).toEqual({ objects: [row] })
    expect(() => postgresAdapter(pool, null)).not.toThrow()
    expect(postgresSchema({ schema: null })).toBe(postgresSchema())
    expect(postgresSchema(null)).toBe(postgresSchema())
  })

  it('refuses calls of a client that is not connected, until it is', async () => {
    const client = new pg.Client(url)
    const store = postgresAdapter(client)
    await expect(store.ping()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: false })
    await expect(store.ping()).rejects.toThrow('must be a client that is connected')
    await client.connect()
    await store.ping()
    await client.end()
  })

  it('sends the statements of a client one at a time, whatever store they are from', async () => {
    const client = new pg.Client(url)
    await client.connect()
    const warned = vi.spyOn(process, 'emitWarning')
    const stores = [postgresAdapter(client, { schema }), postgresAdapter(client, { schema })] as const
    await Promise.all([stores[0].migrate(), stores[1].ping()])
    const calls = Array.from({ length: 20 }, (_, i) =>
      stores[i % 2]!.reserve(attempt(`key ${i}`, `scope ${i}`)),
    )
    const failing = stores[0].reserve({ ...attempt('key 0', 'another scope') })
    await expect(failing).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
    expect(await Promise.all(calls)).toHaveLength(20)
    // pg 8 prints a deprecation warning instead of refusing.
    expect(warned.mock.calls).toEqual([])
    warned.mockRestore()
    await client.end()
  })

  it('lets no call wait for one of another pool that its function returned', async () => {
    let waiting = 0
    let endSilence = (): void => undefined
    const silence = new Promise<never>((_, reject) => {
      endSilence = () => reject(new Error('The connection was lost.'))
    })
    const silent: PostgresPool = { connect() {}, query: () => (waiting++, silence) }
    let current: PostgresPool = pool
    const store = postgresAdapter(() => current, { schema })
    await store.migrate()
    current = silent
    const held = Promise.allSettled([
      store.ping(),
      ...Array.from({ length: 3 }, (_, i) => store.reserve(attempt(`silent ${i}`))),
    ])
    await expect.poll(() => waiting).toBeGreaterThan(2)
    current = pool
    const calls = Array.from({ length: 20 }, (_, i) => store.reserve(attempt(`key ${i}`)))
    expect(await Promise.all(calls)).toHaveLength(20)
    expect(await store.countByScope('scope', 'pending')).toBe(20)
    endSilence()
    await held
  })

  it('refuses values that the driver has parsed, as pg-native does', async () => {
    await postgresAdapter(pool, { schema }).migrate()
    await postgresAdapter(pool, { schema }).reserve({ ...attempt('key'), metadata: { tag: 'x' } })
    const parsing = {
      connect() {},
      query: (query: PostgresQuery) => pool.query({ ...query, types: undefined }),
    }
    const listing = postgresAdapter(parsing, { schema }).listByScope({ scope: 'scope' })
    await expect(listing).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: false })
    await expect(listing).rejects.toThrow('must return values as text')
  })

  it.each(['a{schema-literal}b', "{schema}'s {schema-literal}", '{schema-{schema}literal}', '"{schema}"'])(
    'works in a schema whose name contains a placeholder: %s',
    async (schema) => {
      await dropSchema(pool, schema)
      const store = postgresAdapter(pool, { schema })
      expect(await store.migrate()).toEqual({ from: 0, to: SCHEMA.version })
      expect(await store.verify()).toEqual([])
      const row = await store.reserve(attempt('key'))
      expect(await store.listByScope({ scope: 'scope' })).toEqual({ objects: [row] })
      const { rows } = await pool.query(`SELECT key FROM ${quoted(schema)}.objects`)
      expect(rows).toEqual([{ key: 'key' }])

      // The text of postgresSchema() names the same schema.
      await pool.query(postgresSchema({ schema }))
      expect(await store.verify()).toEqual([])
      await dropSchema(pool, schema)
    },
  )

  it.each([
    ['a pool of pg', poolOf(url)],
    ['an instance of postgres.js', postgres(url)],
  ])('names readPool in the errors of %s that was ended', async (_, replica) => {
    await postgresAdapter(pool, { schema }).migrate()
    await replica.end()
    const store = postgresAdapter(pool, { schema, readPool: replica })
    const unavailable = { code: 'DATABASE_UNAVAILABLE', message: 'readPool: The database is unavailable.' }
    await expect(store.listByScope({ scope: 'scope' })).rejects.toMatchObject(unavailable)
    await expect(store.countByScope('scope')).rejects.toMatchObject(unavailable)
  })

  it('repairs the counters of countByScope, with or without a difference of usage', async () => {
    const store = postgresAdapter(pool, { schema })
    await store.migrate()
    await store.reserve(attempt('one'))
    const usage = `${quoted(schema)}.scope_usage`
    await pool.query(`UPDATE ${usage} SET pending_rows = 5, deleted_rows = 5`)
    expect(await store.repairUsage()).toEqual([])
    expect([await store.countByScope('scope'), await store.countByScope('scope', 'deleted')]).toEqual([1, 0])
    await pool.query(`DELETE FROM ${usage}`)
    expect(await store.repairUsage()).toHaveLength(1)
    expect(await store.countByScope('scope')).toBe(1)
  })
})
