import type { StorageError, StorageObjectStore } from '@svc/db'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { attempt, BUCKET, errorOf } from './attempt.js'
import {
  describePostgres,
  dropSchema,
  freshSchema,
  inTransaction as rolledBack,
  migratedSchema,
  poolOf,
  quoted,
  untilBlocked,
} from './schemas.js'
import { wireProxy } from './wire-proxy.js'

interface Transaction {
  readonly store: StorageObjectStore
  readonly query: (text: string, values?: string[]) => Promise<unknown>
}
const ROLLBACK = new Error('undone')

const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: unknown) => error as StorageError,
  )

// docs/your-orm.md promises this.
describePostgres('a store over a client in a transaction', (url) => {
  const pool = poolOf(url)
  const schema = migratedSchema(pool)
  const table = `${quoted(schema)}."documents of the application"`
  const sql = postgres(url)
  const outside = postgresAdapter(pool, { schema })
  beforeAll(() => pool.query(`CREATE TABLE ${table} (key text PRIMARY KEY)`))
  afterAll(() => sql.end())

  /** Runs `use` in a transaction of each driver, and returns whether it was committed or rolled back. */
  const DRIVERS = {
    async pg(use: (transaction: Transaction) => Promise<unknown>, level = 'READ COMMITTED') {
      const client = await pool.connect()
      let command: string | null = null
      try {
        await client.query(`BEGIN ISOLATION LEVEL ${level}`)
        const query = (text: string, values?: string[]) => client.query(text, values)
        const end = await use({ store: postgresAdapter(client, { schema }), query }).then(
          () => 'COMMIT',
          (error: unknown) => {
            expect(error).toBe(ROLLBACK)
            return 'ROLLBACK'
          },
        )
        command = (await client.query(end)).command
        return command
      } finally {
        // Closes the connection if the transaction may still be open.
        client.release(command === null)
      }
    },
    async 'postgres.js'(use: (transaction: Transaction) => Promise<unknown>, level = 'READ COMMITTED') {
      const transaction = sql.begin(`ISOLATION LEVEL ${level}`, (tx) =>
        use({
          store: postgresAdapter(tx, { schema }),
          query: (text, values = []) => tx.unsafe(text, values),
        }),
      )
      return transaction.then(
        () => 'COMMIT',
        (error: Error) => {
          expect(error === ROLLBACK || 'code' in error).toBe(true)
          return 'ROLLBACK'
        },
      )
    },
  }

  const insert = ({ query }: Transaction, key: string) => query(`INSERT INTO ${table} VALUES ($1)`, [key])
  const inserted = async (key: string) =>
    (await pool.query(`SELECT FROM ${table} WHERE key = $1`, [key])).rowCount === 1
  const found = async (key: string) => (await outside.find({ bucket: BUCKET, key })) !== null

  describe.each(Object.entries(DRIVERS))('of %s', (driver, inTransaction) => {
    const named = (name: string) => `${name} over ${driver}`

    it('writes nothing that others see before the commit, batches included', async () => {
      const scope = named('batched')
      const keys = ['a', 'b', 'c', 'd', 'e'].map(named)
      await inTransaction(async (transaction) => {
        await insert(transaction, keys[0]!)
        await Promise.all(keys.map((key) => transaction.store.reserve(attempt(key, scope))))
        expect(await transaction.store.countByScope(scope)).toBe(keys.length)
        expect(await outside.countByScope(scope)).toBe(0)
      })
      expect(await outside.countByScope(scope)).toBe(keys.length)
      expect(await inserted(keys[0]!)).toBe(true)
      expect(await outside.checkUsage()).toEqual([])
    })

    it('is undone by a rollback, counters included', async () => {
      const row = await outside.reserve(attempt(named('undone'), 'undone'))
      const usage = await outside.getScopeUsage('undone')
      const end = await inTransaction(async ({ store }) => {
        await store.confirm({ ...row, id: row.id, size: 5, eTag: null })
        await store.remove({ bucket: BUCKET, key: row.key, mode: 'hard' })
        await Promise.all(['f', 'g', 'h'].map((key) => store.reserve(attempt(key, 'undone'))))
        throw ROLLBACK
      })
      expect(end).toBe('ROLLBACK')
      expect(await outside.find(row)).toEqual(row)
      expect(await outside.getScopeUsage('undone')).toEqual(usage)
      expect(await outside.listLeftovers()).toEqual([])
      expect(await outside.checkUsage()).toEqual([])
    })

    it('can be committed after refusals', async () => {
      await outside.reserve(attempt(named('taken'), 'owner'))
      const key = named('after refusals')
      const end = await inTransaction(async (transaction) => {
        const { store } = transaction
        const refusals = [
          store.reserve({ ...attempt('too much'), quota: { maxBytes: 0 } }),
          store.reserve(attempt(named('taken'))),
          store.confirm({ bucket: BUCKET, key: 'missing', size: 1 }),
        ]
        const codes = (await Promise.all(refusals.map(refusalOf))).map((error) => error?.code)
        expect(codes).toEqual(['QUOTA_EXCEEDED', 'KEY_CONFLICT', 'OBJECT_NOT_FOUND'])
        await store.reserve(attempt(key))
        await insert(transaction, key)
      })
      expect([end, await found(key), await inserted(key)]).toEqual(['COMMIT', true, true])
    })

    it('can only be rolled back after an id that is already used', async () => {
      const end = await inTransaction(async (transaction) => {
        const { store } = transaction
        await insert(transaction, 'rolled back')
        const { id } = await store.reserve(attempt('of the id'))
        const refused = store.reserve({ ...attempt('same id'), id })
        expect(await refusalOf(refused)).toMatchObject({ code: 'VALIDATION_ERROR' })
        // postgres.js reports the statement that failed to all calls after it.
        expect(await refusalOf(store.ping())).toMatchObject(
          driver === 'pg'
            ? { code: 'DATABASE_UNAVAILABLE', message: expect.stringContaining('Call ROLLBACK') as string }
            : { code: '23505' },
        )
      })
      expect([end, await found('of the id'), await inserted('rolled back')]).toEqual([
        'ROLLBACK',
        false,
        false,
      ])
    })

    it.each(['REPEATABLE READ', 'SERIALIZABLE'])(
      'refuses to write with the isolation level %s',
      async (level) => {
        const end = await inTransaction(async ({ store }) => {
          expect(await refusalOf(store.reserve(attempt('isolated')))).toMatchObject({
            code: 'DATABASE_UNAVAILABLE',
            message: expect.stringContaining('READ COMMITTED') as string,
            retryable: false,
          })
        }, level)
        expect(end).toBe('ROLLBACK')
      },
    )

    it('makes other writers of its scopes wait until the commit, and no others', async () => {
      const scope = named('locked')
      let waiting: Promise<unknown> = Promise.resolve()
      let isOver = false
      await inTransaction(async ({ store }) => {
        await store.reserve(attempt(named('first'), scope))
        waiting = outside.reserve(attempt(named('second'), scope)).then(() => expect(isOver).toBe(true))
        await untilBlocked(pool, schema)
        await outside.reserve(attempt(named('third'), 'free'))
        await outside.listByScope({ scope })
        isOver = true
      })
      await waiting
      expect(await outside.countByScope(scope)).toBe(2)
    })

    it('reports the deadlock that rolled it back, not a failed repeat', async () => {
      const scope = named('deadlock')
      await outside.reserve(attempt(named('own first'), scope))
      await rolledBack(pool, async (holder) => {
        await holder.query(`SET LOCAL deadlock_timeout = '1h'`)
        await holder.query(`SELECT FROM ${quoted(schema)}.scope_usage WHERE scope = $1 FOR UPDATE`, [scope])
        const end = await inTransaction(async ({ store, query }) => {
          await query(`SET LOCAL deadlock_timeout = '2s'`)
          const waiting = errorOf(store.reserve(attempt(named('own second'), scope)))
          await untilBlocked(pool, schema)
          // Waits for the key that the transaction holds, which waits for the usage row that this one holds.
          await postgresAdapter(holder, { schema }).reserve(attempt(named('own second'), scope))
          expect((await waiting).cause).toMatchObject({ code: '40P01' })
        })
        expect(end).toBe('ROLLBACK')
      })
    })
  })

  it('can only be rolled back after an id that is already used, in a batch', async () => {
    const client = await pool.connect()
    await client.query('BEGIN')
    const store = postgresAdapter(client, { schema })
    const { id } = await store.reserve(attempt('of the id'))
    const batch = ['i', 'j', 'k'].map((key) => refusalOf(store.reserve(attempt(key))))
    const last = refusalOf(store.reserve({ ...attempt('same id'), id }))
    await Promise.all(batch)
    // The calls of the failed batch run again, alone, and each finds the transaction failed.
    expect(await last).toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    expect((await client.query('COMMIT')).command).toBe('ROLLBACK')
    client.release()
  })

  it('can create the schema, which a rollback takes back', async () => {
    const fresh = freshSchema()
    const client = await pool.connect()
    const store = postgresAdapter(client, { schema: fresh })
    for (const end of ['ROLLBACK', 'COMMIT']) {
      await client.query('BEGIN')
      expect(await store.migrate()).toMatchObject({ from: 0 })
      await store.reserve(attempt('first'))
      await client.query(end)
    }
    expect(await store.countByScope(attempt('first').scope)).toBe(1)
    client.release()
    await dropSchema(pool, fresh)
  })

  it('runs no call outside the transaction after its connection was lost', async () => {
    const client = await pool.connect()
    client.on('error', () => {})
    const store = postgresAdapter(client, { schema })
    await client.query('BEGIN')
    await client.query(`INSERT INTO ${table} VALUES ('lost')`)
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    await pool.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid])
    for (const key of ['lost 1', 'lost 2']) {
      expect(await refusalOf(store.reserve(attempt(key)))).toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    }
    client.release()
    expect([await found('lost 1'), await found('lost 2'), await inserted('lost')]).toEqual(
      Array(3).fill(false),
    )
  })

  it('runs no call on another connection of postgres.js after its own was lost', async () => {
    const proxy = await wireProxy(url)
    onTestFinished(() => proxy.close())
    // postgres.js itself runs its ROLLBACK on the new connection, which Postgres notices.
    const own = postgres(proxy.url, { max: 1, onnotice: () => {} })
    onTestFinished(() => own.end({ timeout: 0 }))
    const reconnected = vi.fn()
    const transaction = own.begin(async (tx) => {
      const store = postgresAdapter(tx, { schema })
      await tx.unsafe(`INSERT INTO ${table} VALUES ('lost')`)
      proxy.dropNextResponse()
      expect((await errorOf(store.reserve(attempt('first after loss')))).code).toBe('DATABASE_UNAVAILABLE')
      // The instance opens a connection for this, which the transaction's calls must not use.
      await own`SELECT 1`.then(reconnected)
      const again = errorOf(store.reserve(attempt('second after loss')))
      expect((await again).code).toBe('DATABASE_UNAVAILABLE')
    })
    await expect(transaction).rejects.toThrow()
    await expect.poll(() => reconnected).toHaveBeenCalled()
    await postgresAdapter(own, { schema }).ping()
    expect([
      await inserted('lost'),
      await found('first after loss'),
      await found('second after loss'),
    ]).toEqual(Array(3).fill(false))
  })

  it('takes part in a transaction of a reserved connection and a savepoint of postgres.js', async () => {
    const connection = await sql.reserve()
    await connection`BEGIN`
    await postgresAdapter(connection, { schema }).reserve(attempt('on a reserved connection'))
    await connection`ROLLBACK`
    connection.release()
    expect(await found('on a reserved connection')).toBe(false)
    await sql.begin(async (tx) => {
      await postgresAdapter(tx, { schema }).reserve(attempt('before', 'savepoint'))
      await tx.savepoint(async (inner) => {
        expect(await postgresAdapter(inner, { schema }).countByScope('savepoint')).toBe(1)
      })
    })
  })

  it('refuses a transaction of an instance of postgres.js that transforms rows when it sees one', async () => {
    const own = postgres(url, { transform: { row: (row: object) => ({ ...row }) } })
    onTestFinished(() => own.end())
    const transaction = own.begin((tx) => postgresAdapter(tx, { schema }).reserve(attempt('transformed')))
    await expect(transaction).rejects.toThrow(TypeError)
    expect(await found('transformed')).toBe(false)
  })
})
