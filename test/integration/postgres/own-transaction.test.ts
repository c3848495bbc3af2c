import type { StorageError } from '@svc/db'
import { createAttemptId, type StorageObjectStore } from '@svc/db'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { attempt, BUCKET } from './attempt.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: unknown) => error as StorageError,
  )

// docs/your-orm.md promises this. With postgres.js it is tested in postgres-js-transactions.test.ts.
describePostgres('a store over a client in a transaction', (url) => {
  const schema = freshSchema()
  const table = `${quoted(schema)}."documents of the application"`
  const pool = poolOf(url)
  const outside = postgresAdapter(pool, { schema })
  beforeAll(async () => {
    await outside.migrate()
    await pool.query(`CREATE TABLE ${table} (key text PRIMARY KEY)`)
  })
  afterAll(async () => {
    await dropSchema(pool, schema)
    await pool.end()
  })

  /** Runs `use` in a transaction, and returns what Postgres responded to its COMMIT. */
  async function inTransaction(
    use: (store: StorageObjectStore, client: pg.PoolClient) => Promise<unknown>,
    begin = 'BEGIN',
  ): Promise<string> {
    const client = await pool.connect()
    let command: string | null = null
    try {
      await client.query(begin)
      await use(postgresAdapter(client, { schema }), client)
      command = (await client.query('COMMIT')).command
      return command
    } finally {
      // Closes the connection if the transaction may still be open.
      client.release(command === null)
    }
  }

  const insert = (client: pg.PoolClient, key: string) =>
    client.query(`INSERT INTO ${table} VALUES ($1)`, [key])
  const inserted = async (key: string) =>
    (await pool.query(`SELECT FROM ${table} WHERE key = $1`, [key])).rowCount === 1
  const found = async (key: string) => (await outside.find({ bucket: BUCKET, key })) !== null

  it('writes nothing that others see before the commit, batches included', async () => {
    const keys = ['a', 'b', 'c', 'd', 'e']
    await inTransaction(async (store, client) => {
      await insert(client, 'a')
      await Promise.all(keys.map((key) => store.reserve(attempt(key, 'batched'))))
      expect(await store.countByScope('batched')).toBe(keys.length)
      expect(await outside.countByScope('batched')).toBe(0)
    })
    expect(await outside.countByScope('batched')).toBe(keys.length)
    expect(await inserted('a')).toBe(true)
    expect(await outside.checkUsage()).toEqual([])
  })

  it('is undone by a rollback, counters included', async () => {
    const row = await outside.reserve(attempt('undone', 'undone'))
    const usage = await outside.getScopeUsage('undone')
    await inTransaction(async (store, client) => {
      await store.confirm({ ...row, id: row.id, size: 5, eTag: null })
      await store.remove({ bucket: BUCKET, key: 'undone', mode: 'hard' })
      await Promise.all(['f', 'g', 'h'].map((key) => store.reserve(attempt(key, 'undone'))))
      await client.query('ROLLBACK')
    })
    expect(await outside.find(row)).toEqual(row)
    expect(await outside.getScopeUsage('undone')).toEqual(usage)
    expect(await outside.listLeftovers()).toEqual([])
    expect(await outside.checkUsage()).toEqual([])
  })

  it('can be committed after refusals', async () => {
    await outside.reserve(attempt('taken', 'owner'))
    const command = await inTransaction(async (store, client) => {
      const refusals = [
        store.reserve({ ...attempt('too much'), quota: { maxBytes: 0 } }),
        store.reserve(attempt('taken')),
        store.confirm({ bucket: BUCKET, key: 'missing', size: 1 }),
      ]
      const codes = (await Promise.all(refusals.map(refusalOf))).map((error) => error?.code)
      expect(codes).toEqual(['QUOTA_EXCEEDED', 'KEY_CONFLICT', 'OBJECT_NOT_FOUND'])
      await store.reserve(attempt('after refusals'))
      await insert(client, 'after refusals')
    })
    expect(command).toBe('COMMIT')
    expect([await found('after refusals'), await inserted('after refusals')]).toEqual([true, true])
  })

  it.each<[string, (store: StorageObjectStore, client: pg.PoolClient) => Promise<unknown>, string]>([
    [
      'an id that is already used',
      async (store) => {
        const id = createAttemptId()
        await store.reserve({ ...attempt('of the id'), id })
        return refusalOf(store.reserve({ ...attempt('same id'), id }))
      },
      'VALIDATION_ERROR',
    ],
    [
      // The calls of the failed batch run again, alone, and each finds the transaction failed.
      'an id that is already used, in a batch',
      async (store) => {
        const id = createAttemptId()
        await store.reserve({ ...attempt('of the id'), id })
        const batch = ['i', 'j', 'k'].map((key) => refusalOf(store.reserve(attempt(key))))
        const error = await refusalOf(store.reserve({ ...attempt('same id'), id }))
        await Promise.all(batch)
        return error
      },
      'DATABASE_UNAVAILABLE',
    ],
    [
      'migrate()',
      (_, client) => refusalOf(postgresAdapter(client, { schema: freshSchema() }).migrate()),
      'DATABASE_UNAVAILABLE',
    ],
  ])('can only be rolled back after %s', async (_, fail, code) => {
    const command = await inTransaction(async (store, client) => {
      await insert(client, 'rolled back')
      expect(await fail(store, client)).toMatchObject({ code })
      expect(await refusalOf(store.ping())).toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        message: expect.stringContaining('Call ROLLBACK') as string,
      })
    })
    expect(command).toBe('ROLLBACK')
    expect([await found('of the id'), await inserted('rolled back')]).toEqual([false, false])
  })

  it.each(['REPEATABLE READ', 'SERIALIZABLE'])(
    'refuses to write with the isolation level %s',
    async (level) => {
      const command = await inTransaction(async (store) => {
        expect(await refusalOf(store.reserve(attempt('isolated')))).toMatchObject({
          code: 'DATABASE_UNAVAILABLE',
          message: expect.stringContaining('READ COMMITTED') as string,
        })
      }, `BEGIN ISOLATION LEVEL ${level}`)
      expect(command).toBe('ROLLBACK')
    },
  )

  it('makes other writers of its scopes wait until the commit, and no others', async () => {
    let waiting: Promise<unknown> = Promise.resolve()
    let isOver = false
    await inTransaction(async (store) => {
      await store.reserve(attempt('first', 'locked'))
      waiting = outside.reserve(attempt('second', 'locked')).then(() => expect(isOver).toBe(true))
      await untilBlocked()
      await outside.reserve(attempt('third', 'free'))
      await outside.listByScope({ scope: 'locked' })
      isOver = true
    })
    await waiting
    expect(await outside.countByScope('locked')).toBe(2)
  })

  it('runs no call outside the transaction after its connection was lost', async () => {
    const client = await pool.connect()
    client.on('error', () => {})
    const store = postgresAdapter(client, { schema })
    await client.query('BEGIN')
    await insert(client, 'lost')
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    await pool.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid])
    for (const key of ['lost 1', 'lost 2']) {
      expect(await refusalOf(store.reserve(attempt(key)))).toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    }
    client.release()
    expect([await found('lost 1'), await found('lost 2'), await inserted('lost')]).toEqual([
      false,
      false,
      false,
    ])
  })

  /** Waits until a session waits for a lock of this schema. */
  async function untilBlocked(): Promise<void> {
    for (;;) {
      const { rowCount } = await pool.query(
        `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'`,
        [quoted(schema)],
      )
      if (rowCount! > 0) return
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
})
