import { createAttemptId, type StorageObjectStore } from '@svc/db'
import type pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { attempt, BUCKET, errorOf } from './attempt.js'
import { describePostgres, inTransaction, migratedSchema, poolOf, quoted, untilBlocked } from './schemas.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

interface Connections {
  readonly max?: number
  /** Settings of each session. */
  readonly settings?: Readonly<Record<string, string>>
}

/** The drivers, as a function that opens connections until the test ends. */
const DRIVERS = {
  pg(url: string, { max, settings = {} }: Connections = {}) {
    const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value.replace(' ', '\\ ')}`)
    const pool = poolOf(url, { max, options: options.join(' ') })
    onTestFinished(async () => void (pool.ended || (await pool.end())))
    return pool
  },
  'postgres.js'(url: string, { max, settings = {} }: Connections = {}) {
    // At each connect, postgres.js asks for types. If a timeout of this test ended that query, nothing could catch its error.
    const sql = postgres(url, { ...(max && { max }), connection: settings, fetch_types: false })
    onTestFinished(() => sql.end({ timeout: 0 }))
    return sql
  },
}

describePostgres('failures of Postgres', (url) => {
  const pool = poolOf(url)
  const schema = migratedSchema(pool)
  const direct = postgresAdapter(pool, { schema })
  let proxy: WireProxy
  beforeAll(async () => {
    proxy = await wireProxy(url)
  })
  afterAll(() => proxy.close())

  /** Runs `use` while another transaction holds the row and the key of this attempt. */
  const whileHeld = (key: string, use: (holder: pg.PoolClient) => Promise<void>) =>
    inTransaction(pool, async (holder) => {
      await postgresAdapter(holder, { schema }).reserve(attempt(key))
      await use(holder)
    })

  describe.each(Object.entries(DRIVERS))('over %s', (driver, open) => {
    const storeOver = (to = url, options?: Connections) => postgresAdapter(open(to, options), { schema })
    const named = (name: string) => `${name} over ${driver}`

    it('throws DATABASE_UNAVAILABLE with the cause if there is no server', async () => {
      const nowhere = new URL(url)
      nowhere.port = '1'
      const store = storeOver(nowhere.href)
      for (const call of [
        () => store.ping(),
        () => store.migrate(),
        () => store.verify(),
        () => store.reserve(attempt('k')),
      ]) {
        const error = await errorOf(call())
        expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true })
        expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' })
      }
    })

    it('repeats calls whose responses were lost', async () => {
      const store = storeOver(proxy.url, { max: 1 })
      const [scope, to, key] = [named('lost'), named('lost too'), named('lost')]
      const at = { bucket: BUCKET, key }
      await store.ping()
      proxy.dropNextResponse()
      const row = await store.reserve(attempt(key, scope))
      expect(await store.findPending(at)).toEqual(row)
      expect(await store.countByScope(scope)).toBe(1)
      proxy.dropNextResponse()
      expect(await store.confirm({ ...at, id: row.id, size: 5 })).toMatchObject({ status: 'active' })
      proxy.dropNextResponse()
      expect(await store.update({ ...at, filename: 'a.txt' })).toMatchObject({ filename: 'a.txt' })
      proxy.dropNextResponse()
      const quota = { maxBytes: 5, maxFiles: 1 }
      expect(await store.transfer({ ...at, from: scope, to, quota })).toMatchObject({ scope: to })
      proxy.dropNextResponse()
      const bytes = { bucket: BUCKET, key: named('adopted'), storageKey: named('bytes'), size: 7 }
      expect(await store.adopt({ ...bytes, scope, createdAt: new Date() })).toMatchObject({ known: false })
      expect(await store.getScopeUsage(scope)).toMatchObject({ bytes: 7, files: 1 })
      expect(await store.getScopeUsage(to)).toMatchObject({ bytes: 5, files: 1 })
      expect(await store.checkUsage()).toEqual([])
    })

    it('repeats a list whose response broke off', async () => {
      const store = storeOver(proxy.url, { max: 1 })
      const scope = named('broken off')
      for (const number of [1, 2, 3, 4]) await store.reserve(attempt(named(`broken off ${number}`), scope))
      // From its second call on, postgres.js has prepared the statement, and the next response has the rows.
      const before = await store.listByScope({ scope })
      proxy.halveNextResponse()
      expect(await store.listByScope({ scope })).toEqual(before)
    })

    it.each<[string, (store: StorageObjectStore, key: string) => Promise<unknown>]>([
      ['remove', (store, key) => store.remove({ bucket: BUCKET, key })],
      ['confirm without an id', (store, key) => store.confirm({ bucket: BUCKET, key, size: 6 })],
    ])('throws if the response to %s was lost, which has taken effect', async (name, call) => {
      const store = storeOver(proxy.url, { max: 1 })
      // From its second call on, postgres.js has prepared the statement, and its next response is the last.
      for (const key of [1, 2].map((round) => named(`${name} ${round}`))) {
        await store.reserve(attempt(key))
        if (key.includes('2')) await call(store, named('nothing')).catch(() => {})
        proxy.dropNextResponse()
        const error = await errorOf(call(store, key))
        expect(error.code).toBe('DATABASE_UNAVAILABLE')
        expect(error.cause).toBeInstanceOf(Error)
      }
      expect(await store.findPending({ bucket: BUCKET, key: named(`${name} 2`) })).toBeNull()
      expect(await store.checkUsage()).toEqual([])
    })

    it('survives connections that broke while idle', async () => {
      const store = storeOver(proxy.url)
      await Promise.all(Array.from({ length: 8 }, () => store.ping()))
      proxy.cut()
      await Promise.all(Array.from({ length: 8 }, (_, i) => store.reserve(attempt(named(`idle ${i}`)))))
    })

    it.each(['statement_timeout', 'lock_timeout'])(
      'throws DATABASE_UNAVAILABLE after %s',
      async (timeout) => {
        await whileHeld('held', async () => {
          const call = storeOver(url, { settings: { [timeout]: '100' } }).reserve(attempt('held'))
          expect(await errorOf(call)).toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true })
        })
        await direct.reserve(attempt('held'))
      },
    )
  })

  const id = createAttemptId()
  const existing = { bucket: BUCKET, key: 'read-only existing' }
  const missing = { bucket: BUCKET, key: 'read-only missing' }
  it.each<[string, (store: StorageObjectStore) => Promise<unknown>]>([
    ['reserve', (store) => store.reserve(attempt('read-only'))],
    ['a refused reserve', (store) => store.reserve({ ...attempt('read-only'), quota: { maxFiles: 0 } })],
    ['reserve of a taken key', (store) => store.reserve(attempt(existing.key, 'other'))],
    ['a repeated reserve', (store) => store.reserve({ ...attempt(existing.key), id })],
    ['confirm of nothing', (store) => store.confirm({ ...missing, size: 1 })],
    ['a repeated setUploadId', (store) => store.setUploadId({ ...existing, id, uploadId: 'upload' })],
    ['release of nothing', (store) => store.release(missing)],
    ['remove of nothing', (store) => store.remove(missing)],
    ['purgeExpired of nothing', (store) => store.purgeExpired({ scope: 'empty' })],
    ['purgeDeleted of nothing', (store) => store.purgeDeleted({ before: new Date('2000-01-01') })],
    ['forgetLeftover of nothing', (store) => store.forgetLeftover({ attemptId: id })],
    ['repairUsage of nothing', (store) => store.repairUsage('empty')],
    [
      'a batch that is refused',
      (store) =>
        Promise.any(
          ['a', 'b', 'c', 'd'].map((key) => store.reserve({ ...attempt(key), quota: { maxFiles: 0 } })),
        ).catch((error: AggregateError) => Promise.reject(error.errors.at(-1) as Error)),
    ],
  ])('refuses %s on a read-only database, even with nothing to write', async (_, call) => {
    await direct.reserve({ ...attempt(existing.key), id, uploadId: 'upload' })
    const settings = { default_transaction_read_only: 'on' }
    const error = await errorOf(call(postgresAdapter(DRIVERS.pg(url, { settings }), { schema })))
    expect(error.code).toBe('DATABASE_UNAVAILABLE')
    expect(error.message).toContain('read-only')
  })

  it('throws DATABASE_UNAVAILABLE if the pool is exhausted', async () => {
    const own = DRIVERS.pg(url, { max: 1 })
    const store = postgresAdapter(own, { schema })
    const held = await own.connect()
    // Only now, because the first connection may take longer on a busy machine.
    own.options.connectionTimeoutMillis = 50
    expect((await errorOf(store.ping())).code).toBe('DATABASE_UNAVAILABLE')
    held.release()
    await store.ping()
  })

  it('throws DATABASE_UNAVAILABLE after transaction_timeout', async (test) => {
    const { rows } = await pool.query<{ version: number }>(
      `SELECT current_setting('server_version_num')::int AS version`,
    )
    test.skip(rows[0]!.version < 170_000, 'PostgreSQL has transaction_timeout from 17 on')
    const store = postgresAdapter(DRIVERS.pg(url, { settings: { transaction_timeout: '100' } }), { schema })
    await whileHeld('held too long', async () => {
      const error = await errorOf(store.reserve(attempt('held too long')))
      expect(error.code).toBe('DATABASE_UNAVAILABLE')
      expect(error.cause).toMatchObject({ code: '25P04' })
    })
    await direct.reserve(attempt('held too long'))
  })

  it('repeats a call that was rolled back for a deadlock', async () => {
    const scope = 'deadlock'
    // Postgres rolls back the session that detects the deadlock. The holder of the row never checks for one.
    const own = DRIVERS.pg(proxy.url, { settings: { deadlock_timeout: '2s' } })
    const store = postgresAdapter(own, { schema })
    await store.reserve(attempt('first', scope))
    let waiting: Promise<unknown> | undefined
    await inTransaction(pool, async (holder) => {
      await holder.query(`SET LOCAL deadlock_timeout = '1h'`)
      await holder.query(`SELECT 1 FROM ${quoted(schema)}.scope_usage WHERE scope = $1 FOR UPDATE`, [scope])
      proxy.roundTrips = 0
      waiting = store.reserve(attempt('second', scope))
      await untilBlocked(pool, schema)
      // The call of the store holds the key and waits for the usage row. This one holds the usage row and waits for the
      // key.
      await postgresAdapter(holder, { schema }).reserve(attempt('second', scope))
    })
    expect(await waiting).toMatchObject({ key: 'second', status: 'pending' })
    // The repeat takes two if the other transaction still holds the key.
    expect([2, 3]).toContain(proxy.roundTrips)
    expect(await store.checkUsage()).toEqual([])
  })

  it('replaces a session that an administrator terminated', async () => {
    let waiting: Promise<unknown> = Promise.resolve()
    await whileHeld('ended', async (holder) => {
      waiting = direct.reserve(attempt('ended'))
      const [pid] = await untilBlocked(pool, schema)
      await holder.query('SELECT pg_terminate_backend($1)', [pid])
      await untilBlocked(pool, schema, 1, pid)
    })
    expect(await waiting).toMatchObject({ key: 'ended' })
  })

  it('says what to set if each statement gets a comment with another trace id', async () => {
    const traced = poolOf(url, { max: 1 })
    const query = traced.query.bind(traced) as (config: pg.QueryConfig) => Promise<unknown>
    let calls = 0
    Object.assign(traced, {
      query: (config: pg.QueryConfig) => query({ ...config, text: `${config.text} /* trace ${++calls} */` }),
    })
    const store = postgresAdapter(traced, { schema })
    await store.getScopeUsage('traced')
    await expect(store.getScopeUsage('traced')).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringContaining('Set namedStatements: false') as string,
      retryable: false,
    })
    const unnamed = postgresAdapter(traced, { schema, namedStatements: false })
    for (const _ of [1, 2]) await unnamed.getScopeUsage('traced')
    await traced.end()
  })

  it('throws if JavaScript would round a number', async () => {
    await pool.query(
      `INSERT INTO ${quoted(schema)}.scope_usage (scope, bytes) VALUES ('too much', 9007199254740993)`,
    )
    await expect(direct.getScopeUsage('too much')).rejects.toThrow(RangeError)
    await pool.query(`DELETE FROM ${quoted(schema)}.scope_usage WHERE scope = 'too much'`)
  })

  it('prepares statements of postgres.js again after they were removed from the connection', async () => {
    const sql = DRIVERS['postgres.js'](url, { max: 1 })
    const store = postgresAdapter(sql, { schema })
    await store.reserve(attempt('deallocated'))
    await sql`DEALLOCATE ALL`
    expect(await store.reserve(attempt('deallocated'))).toMatchObject({ key: 'deallocated' })
  })
})
