import { StorageError } from '@svc/db'
import { drizzle } from 'drizzle-orm/postgres-js'
import postgres, { type Options, type PostgresType, type Sql, type TransactionSql } from 'postgres'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { postgresJsDatabase } from '../../../src/adapters/postgres/connection/postgres-js-database.js'
import { migrate } from '../../../src/adapters/postgres/schema/migrate.js'
import { schemaName } from '../../../src/adapters/postgres/schema/schema-name.js'
import type { MigrationStep } from '../../../src/adapters/postgres/schema/migration-step.js'
import { SCHEMA_VERSION, STEPS } from '../../../src/adapters/postgres/schema/steps.js'
import { concurrentWrites, everyCall } from './every-call.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const BUCKET = 'bucket'
const now = () => new Date()
const attempt = (key: string, scope = 'scope') => ({
  scope,
  bucket: BUCKET,
  key,
  declaredSize: 5,
  expiresAt: new Date(Date.now() + 60_000),
})

async function errorOf(call: Promise<unknown>): Promise<StorageError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(StorageError)
  return error as StorageError
}

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
  const schema = freshSchema()
  const pool = poolOf(url)
  const opened: Sql[] = []
  let proxy: WireProxy
  beforeAll(async () => {
    proxy = await wireProxy(url)
    await postgresAdapter(pool, { schema }).migrate()
  })
  afterAll(async () => {
    await Promise.all(opened.map((sql) => sql.end({ timeout: 0 })))
    await proxy.close()
    await dropSchema(pool, schema)
    await pool.end()
  })

  /** Opens an instance that is closed after the tests. */
  function open(options: InstanceOptions = {}, to = url): Sql {
    const sql: Sql = postgres(to, options)
    opened.push(sql)
    return sql
  }

  const storeOf = (sql: Sql | TransactionSql) => postgresAdapter(sql, { schema, now })

  it.each(Object.keys(OPTIONS))('passes values unchanged, with %s', async (name) => {
    const sql = open(OPTIONS[name])
    // Replaces types of the instance.
    if (name === 'drizzle over it') drizzle(sql)
    const [early, end] = [new Date('0001-01-01T00:00:00.001Z'), new Date('9999-12-31T23:59:59.999Z')]
    const store = postgresAdapter(sql, { schema, now: () => early })
    const scope = `values with ${name}`
    const metadata = { a: '{"b":[1]}', camelCase: 'snake_case', '': '\ufeff"\\', snake_case: '1' }
    const input = {
      ...attempt(`\ufeff${name} "quoted", {a,NULL}`, scope),
      declaredSize: Number.MAX_SAFE_INTEGER,
      expiresAt: end,
      metadata,
      filename: 'null',
    }
    const row = await store.reserve(input)
    expect(row).toMatchObject({ ...input, createdAt: early, updatedAt: early, route: null })
    expect(await store.find(row)).toEqual(row)
    // Another driver reads the same values.
    expect(await postgresAdapter(pool, { schema }).find(row)).toEqual(row)
    expect((await store.listByScope({ scope, limit: 1 })).objects).toEqual([row])
    const later = postgresAdapter(sql, { schema, now: () => end })
    expect(await later.listExpired({ scope })).toEqual([row])
    expect(await store.getScopeUsage(scope)).toMatchObject({ reservedBytes: Number.MAX_SAFE_INTEGER })

    const id = row.id
    const active = await store.confirm({ bucket: BUCKET, key: row.key, id, scope, size: 7, eTag: '"e"' })
    expect(active).toMatchObject({ status: 'active', size: 7, eTag: '"e"', confirmedAt: early, metadata })
    await Promise.all(['a', 'b', 'c', 'd'].map((key) => store.reserve(attempt(`${scope}/${key}`, scope))))
    expect(await store.countByScope(scope)).toBe(5)
    expect(await store.checkUsage(scope)).toEqual([])
    const removed = await store.remove({ bucket: BUCKET, key: row.key, scope, mode: 'soft' })
    expect(await store.find(row)).toEqual(removed)
  })

  it('creates, verifies and reads a schema whatever the options of the instance', async () => {
    const own = freshSchema()
    const store = postgresAdapter(open({ ...OPTIONS['own types'], ...OPTIONS['own transforms'], max: 1 }), {
      schema: own,
    })
    expect(await store.verify()).toEqual([expect.stringContaining('migrate()')])
    expect(await store.migrate()).toEqual({ from: 0, to: SCHEMA_VERSION })
    expect(await store.migrate()).toEqual({ from: SCHEMA_VERSION, to: SCHEMA_VERSION })
    expect(await store.verify()).toEqual([])
    await dropSchema(pool, own)
  })

  it('migrates once for many instances that do so at the same time, without printing notices', async () => {
    const log = vi.spyOn(console, 'log')
    const own = freshSchema()
    const addition = {
      index: 'objects_by_type',
      table: 'objects',
      unique: false,
      definition: '(content_type)',
    }
    const index: MigrationStep = {
      version: SCHEMA_VERSION + 1,
      minCompatible: 1,
      additions: [{ kind: 'index', ...addition }],
      sql: '',
    }
    const name = schemaName('migrate', own)
    const migrating = Array.from({ length: 8 }, (_, i) => {
      const database = postgresJsDatabase(open({ max: (i % 2) + 1 }), { named: true })
      // Two calls share an instance, which sends the second query before the first has a response.
      return [migrate(database, name, [...STEPS, index]), migrate(database, name, [...STEPS, index])]
    })
    const results = await Promise.all(migrating.flat())
    expect(results.every(({ to }) => to === index.version)).toBe(true)
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

  it('serves listings from an instance of a replica', async () => {
    const replica = open()
    await replica.end()
    const store = postgresAdapter(open(), { schema, readPool: replica })
    await store.reserve(attempt('read', 'replica'))
    expect((await errorOf(store.listByScope({ scope: 'replica' }))).code).toBe('DATABASE_UNAVAILABLE')
  })

  describe('makes one request per call', () => {
    for (const [title, options, namedStatements] of [
      ['prepared statements', {}, true],
      ['namedStatements: false', {}, false],
      ['prepare: false', { prepare: false }, true],
    ] as const) {
      const prepares = title === 'prepared statements'
      for (const { name, prepare, call } of everyCall(`scope of postgres.js, ${title}`, now)) {
        it(`${name}, ${title}`, async () => {
          const sql = open({ ...options, max: 1 }, proxy.url)
          const store = postgresAdapter(sql, { schema, namedStatements, now })
          // A new connection reads the array types first.
          await sql`SELECT 1`
          await prepare?.(store)
          for (const round of ['first', 'second']) {
            proxy.roundTrips = 0
            proxy.descriptions = 0
            await call(store).catch((error: unknown) => {
              if (round === 'first') throw error
            })
            expect(proxy.roundTrips).toBe(1)
            // postgres.js asks for the types of the parameters first, once for each prepared statement.
            expect(proxy.descriptions).toBeLessThanOrEqual(round === 'second' && prepares ? 0 : 1)
          }
          await sql.end()
        })
      }
    }

    it('concurrent writes of a scope share requests', async () => {
      const sql = open({}, proxy.url)
      const { prepare, call } = concurrentWrites('batched by postgres.js', now)
      const store = storeOf(sql)
      await prepare!(store)
      await Promise.all(Array.from({ length: 10 }, () => sql`SELECT 1`))
      proxy.roundTrips = 0
      await call(store)
      expect(proxy.roundTrips).toBe(3)
    })
  })

  describe('fails as with pg:', () => {
    it('throws DATABASE_UNAVAILABLE with the cause if there is no server', async () => {
      const nowhere = new URL(url)
      nowhere.port = '1'
      const store = storeOf(open({}, nowhere.href))
      for (const call of [() => store.ping(), () => store.migrate(), () => store.reserve(attempt('k'))]) {
        const error = await errorOf(call())
        expect(error.code).toBe('DATABASE_UNAVAILABLE')
        expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' })
      }
    })

    it('names migrate() on a schema that was never migrated', async () => {
      const store = postgresAdapter(open(), { schema: freshSchema() })
      for (const { name, call } of everyCall('scope', now)) {
        if (name === 'ping' || name.endsWith('refused')) continue
        const error = await errorOf(call(store))
        expect(error.code, name).toBe('DATABASE_UNAVAILABLE')
        expect(error.message, name).toContain('migrate()')
      }
    })

    it('refuses an id that is already used', async () => {
      const store = storeOf(open())
      const { id } = await store.reserve(attempt('first of an id'))
      expect((await errorOf(store.reserve({ ...attempt('second of an id'), id }))).params).toMatchObject({
        field: 'id',
      })
    })

    it('repeats a reserve whose response was lost, and reserves once', async () => {
      const store = storeOf(open({}, proxy.url))
      await store.ping()
      proxy.dropNextResponse()
      const row = await store.reserve(attempt('lost reserve', 'lost by postgres.js'))
      expect(await store.findPending(row)).toEqual(row)
      expect(await store.countByScope('lost by postgres.js')).toBe(1)
    })

    it('throws if the response to a call that must not be repeated was lost', async () => {
      const store = storeOf(open({ max: 1 }, proxy.url))
      for (const [key, round] of [
        ['lost remove 1', 1],
        ['lost remove 2', 2],
      ] as const) {
        await store.reserve(attempt(key))
        // From the second call on the statement is prepared, and its next response is the last.
        if (round === 2) await store.remove({ bucket: BUCKET, key: 'nothing' })
        proxy.dropNextResponse()
        const error = await errorOf(store.remove({ bucket: BUCKET, key }))
        expect(error.code).toBe('DATABASE_UNAVAILABLE')
        expect(error.cause).toBeInstanceOf(Error)
      }
      expect(await store.find({ bucket: BUCKET, key: 'lost remove 2' })).toBeNull()
      expect(await store.checkUsage()).toEqual([])
    })

    it('survives connections that broke while idle', async () => {
      const store = storeOf(open({}, proxy.url))
      await Promise.all(Array.from({ length: 8 }, () => store.ping()))
      proxy.cut()
      await Promise.all(Array.from({ length: 8 }, (_, i) => store.reserve(attempt(`idle ${i}`))))
    })

    it.each([{ statement_timeout: 100 }, { lock_timeout: 100 }])(
      'throws DATABASE_UNAVAILABLE after %o',
      async (connection) => {
        const store = storeOf(open({ connection }))
        const holder = await pool.connect()
        try {
          await holder.query('BEGIN')
          await postgresAdapter(holder, { schema }).reserve(attempt('held'))
          expect((await errorOf(store.reserve(attempt('held')))).code).toBe('DATABASE_UNAVAILABLE')
        } finally {
          await holder.query('ROLLBACK')
          holder.release()
        }
        await store.reserve(attempt('held'))
      },
    )

    it('throws DATABASE_UNAVAILABLE on a read-only database and with another isolation level', async () => {
      const readOnly = storeOf(open({ connection: { default_transaction_read_only: true } }))
      expect((await errorOf(readOnly.reserve(attempt('read-only')))).message).toContain('read-only')
      const isolated = storeOf(open({ connection: { default_transaction_isolation: 'repeatable read' } }))
      expect((await errorOf(isolated.reserve(attempt('isolated')))).message).toContain('READ COMMITTED')
    })

    it('throws DATABASE_UNAVAILABLE after the instance was ended', async () => {
      const sql = open()
      await sql.end()
      expect((await errorOf(storeOf(sql).ping())).cause).toMatchObject({ code: 'CONNECTION_ENDED' })
    })

    it('prepares statements again after they were removed from the connection', async () => {
      const sql = open({ max: 1 })
      const store = storeOf(sql)
      await store.reserve(attempt('deallocated'))
      await sql`DEALLOCATE ALL`
      expect(await store.reserve(attempt('deallocated'))).toMatchObject({ key: 'deallocated' })
    })
  })

  describe('in one transaction with rows of the application', () => {
    const table = `${quoted(schema)}."documents of the application"`
    beforeAll(async () => {
      await pool.query(`CREATE TABLE ${table} (key text PRIMARY KEY)`)
    })

    /** Waits until a session waits for a lock of this schema. */
    async function untilBlocked(): Promise<void> {
      const text = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'`
      while ((await pool.query(text, [quoted(schema)])).rowCount === 0) {
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }

    const insert = (tx: TransactionSql, key: string) => tx.unsafe(`INSERT INTO ${table} VALUES ($1)`, [key])
    const inserted = async (key: string) =>
      (await pool.query(`SELECT FROM ${table} WHERE key = $1`, [key])).rowCount === 1
    const reserved = async (key: string) =>
      (await postgresAdapter(pool, { schema }).find({ bucket: BUCKET, key })) !== null

    it('commits and rolls back both', async () => {
      const sql = open()
      await sql.begin(async (tx) => {
        await insert(tx, 'both')
        await storeOf(tx).reserve(attempt('both'))
        expect(await reserved('both')).toBe(false)
      })
      expect([await inserted('both'), await reserved('both')]).toEqual([true, true])

      const failing = sql.begin(async (tx) => {
        await storeOf(tx).reserve(attempt('neither'))
        await insert(tx, 'neither')
        throw new Error('undone')
      })
      await expect(failing).rejects.toThrow('undone')
      expect([await inserted('neither'), await reserved('neither')]).toEqual([false, false])
    })

    it('keeps the transaction usable after a refusal, and includes batched writes', async () => {
      const sql = open()
      await sql.begin(async (tx) => {
        const store = storeOf(tx)
        const refused = store.reserve({ ...attempt('too much'), quota: { maxBytes: 0 } })
        expect((await errorOf(refused)).code).toBe('QUOTA_EXCEEDED')
        await Promise.all(['a', 'b', 'c', 'd'].map((key) => store.reserve(attempt(key, 'in a transaction'))))
        await tx.savepoint(async (inner) => {
          expect(await storeOf(inner).countByScope('in a transaction')).toBe(4)
        })
        await insert(tx, 'after a refusal')
      })
      expect(await inserted('after a refusal')).toBe(true)
      expect(await storeOf(sql).countByScope('in a transaction')).toBe(4)
    })

    it('reports the statement that failed to all calls after it', async () => {
      const sql = open()
      const transaction = sql.begin(async (tx) => {
        const store = storeOf(tx)
        const { id } = await store.reserve(attempt('of this id'))
        expect((await errorOf(store.reserve({ ...attempt('same id'), id }))).code).toBe('VALIDATION_ERROR')
        expect(await store.ping().catch((error: unknown) => error)).toMatchObject({ code: '23505' })
      })
      await expect(transaction).rejects.toMatchObject({ code: '23505' })
      expect(await reserved('of this id')).toBe(false)
    })

    it('runs no call outside the transaction after its connection was lost', async () => {
      // postgres.js itself runs its ROLLBACK on the new connection, which Postgres notices.
      const sql = open({ max: 1, onnotice: () => {} }, proxy.url)
      const reconnected = vi.fn()
      const transaction = sql.begin(async (tx) => {
        await insert(tx, 'lost with its connection')
        const store = storeOf(tx)
        proxy.dropNextResponse()
        expect((await errorOf(store.reserve(attempt('first after loss')))).code).toBe('DATABASE_UNAVAILABLE')
        // The instance opens a connection for this, which the transaction's calls must not use.
        await sql`SELECT 1`.then(reconnected)
        const again = errorOf(store.reserve(attempt('second after loss')))
        expect((await again).code).toBe('DATABASE_UNAVAILABLE')
      })
      await expect(transaction).rejects.toThrow()
      await vi.waitFor(() => expect(reconnected).toHaveBeenCalled())
      await storeOf(sql).ping()
      expect(await inserted('lost with its connection')).toBe(false)
      expect([await reserved('first after loss'), await reserved('second after loss')]).toEqual([
        false,
        false,
      ])
    })

    it('repeats no call that a deadlock rolled back', async () => {
      const scope = 'deadlock in a transaction'
      await postgresAdapter(pool, { schema }).reserve(attempt('own first', scope))
      const holder = await pool.connect()
      await holder.query('BEGIN')
      await holder.query(`SET LOCAL deadlock_timeout = '1h'`)
      await holder.query(`SELECT FROM ${quoted(schema)}.scope_usage WHERE scope = $1 FOR UPDATE`, [scope])
      const sql = open({ max: 1 }, proxy.url)
      const transaction = sql.begin(async (tx) => {
        await tx`SET LOCAL deadlock_timeout = '2s'`
        proxy.roundTrips = 0
        const waiting = errorOf(storeOf(tx).reserve(attempt('own second', scope)))
        await untilBlocked()
        // Waits for the key that the transaction holds, which waits for the usage row that this one holds.
        await postgresAdapter(holder, { schema }).reserve(attempt('own second', scope))
        expect((await waiting).cause).toMatchObject({ code: '40P01' })
        expect(proxy.roundTrips).toBe(1)
      })
      await expect(transaction).rejects.toMatchObject({ code: '40P01' })
      await holder.query('ROLLBACK')
      holder.release()
    })

    it('takes part in a transaction of a reserved connection', async () => {
      const sql = open()
      const connection = await sql.reserve()
      await connection`BEGIN`
      await storeOf(connection).reserve(attempt('on a reserved connection'))
      await connection`ROLLBACK`
      connection.release()
      expect(await reserved('on a reserved connection')).toBe(false)
    })

    it('refuses a transaction of an instance that transforms rows when it sees one', async () => {
      const sql = open({ transform: { row: (row: object) => ({ ...row }) } })
      const transaction = sql.begin((tx) => storeOf(tx).reserve(attempt('transformed')))
      await expect(transaction).rejects.toThrow(TypeError)
      expect(await reserved('transformed')).toBe(false)
    })
  })
})
