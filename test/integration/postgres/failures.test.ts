import { createAttemptId, StorageError, type StorageObjectStore } from '@svc/db'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { everyCall } from './every-call.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './setup.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const BUCKET = 'bucket'
const soon = () => new Date(Date.now() + 60_000)
const attempt = (key: string, scope = 'scope') => ({
  scope,
  bucket: BUCKET,
  key,
  declaredSize: 5,
  expiresAt: soon(),
})

/** The error of a call that must fail. */
async function errorOf(call: Promise<unknown>): Promise<StorageError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(StorageError)
  return error as StorageError
}

describePostgres('failures of Postgres', (url) => {
  const schema = freshSchema()
  const pool = poolOf(url)
  let proxy: WireProxy
  beforeAll(async () => {
    proxy = await wireProxy(url)
    await postgresAdapter(pool, { schema }).migrate()
  })
  afterAll(async () => {
    await proxy.close()
    await dropSchema(pool, schema)
    await pool.end()
  })

  async function withPool<T>(
    options: pg.PoolConfig,
    use: (store: StorageObjectStore, own: pg.Pool) => Promise<T>,
  ) {
    const own = poolOf(options.connectionString ?? url, options)
    try {
      return await use(postgresAdapter(own, { schema }), own)
    } finally {
      await own.end()
    }
  }

  /** Holds the rows and the key of this attempt while something else runs. */
  async function whileHeld(key: string, use: (holder: pg.PoolClient) => Promise<void>) {
    const holder = await pool.connect()
    try {
      await holder.query('BEGIN')
      await postgresAdapter(holder, { schema }).reserve(attempt(key))
      await use(holder)
    } finally {
      await holder.query('ROLLBACK')
      holder.release()
    }
  }

  describe('a place that was never migrated', () => {
    const store = postgresAdapter(pool, { schema: freshSchema() })
    for (const { name, call } of everyCall('scope', () => new Date())) {
      if (name === 'ping' || name.endsWith('refused')) continue
      it(`${name} names migrate()`, async () => {
        const error = await errorOf(call(store))
        expect(error.code).toBe('DATABASE_UNAVAILABLE')
        expect(error.message).toContain('migrate()')
        expect(error.cause).toBeInstanceOf(Error)
      })
    }
    it.each(['checkUsage', 'repairUsage'] as const)('%s names migrate()', async (name) => {
      expect((await errorOf(store[name]())).message).toContain('migrate()')
    })
  })

  it('no server: DATABASE_UNAVAILABLE with the cause', async () => {
    const nowhere = new URL(url)
    nowhere.port = '1'
    await withPool({ connectionString: nowhere.href }, async (store) => {
      for (const call of [
        () => store.ping(),
        () => store.migrate(),
        () => store.verify(),
        () => store.reserve(attempt('k')),
      ]) {
        const error = await errorOf(call())
        expect(error.code).toBe('DATABASE_UNAVAILABLE')
        expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' })
      }
    })
  })

  it('a lost answer to reserve is asked for again, and made once', async () => {
    await withPool({ connectionString: proxy.url }, async (store) => {
      await store.ping()
      proxy.loseNextAnswer()
      const row = await store.reserve(attempt('lost reserve', 'lost'))
      expect(await store.findPending({ bucket: BUCKET, key: 'lost reserve' })).toEqual(row)
      expect(await store.countByScope('lost')).toBe(1)
    })
  })

  it('a lost answer to confirm with its id is asked for again; without, it is an error', async () => {
    await withPool({ connectionString: proxy.url }, async (store) => {
      const { id } = await store.reserve(attempt('lost confirm', 'lost'))
      proxy.loseNextAnswer()
      const row = await store.confirm({ bucket: BUCKET, key: 'lost confirm', id, size: 5 })
      expect(row).toMatchObject({ status: 'active', attemptId: id })

      await store.reserve(attempt('lost confirm', 'lost'))
      proxy.loseNextAnswer()
      const error = await errorOf(store.confirm({ bucket: BUCKET, key: 'lost confirm', size: 6 }))
      expect(error.code).toBe('DATABASE_UNAVAILABLE')
      expect(await store.findActive({ bucket: BUCKET, key: 'lost confirm' })).toMatchObject({ size: 6 })
      expect(await store.checkUsage()).toEqual([])
    })
  })

  it('a lost answer to remove is an error, and the pool works on', async () => {
    await withPool({ connectionString: proxy.url, max: 1 }, async (store, own) => {
      await store.reserve(attempt('lost remove'))
      proxy.loseNextAnswer()
      expect((await errorOf(store.remove({ bucket: BUCKET, key: 'lost remove' }))).code).toBe(
        'DATABASE_UNAVAILABLE',
      )
      expect(await store.find({ bucket: BUCKET, key: 'lost remove' })).toBeNull()
      expect(own.totalCount).toBe(1)
      expect(own.idleCount).toBe(1)
    })
  })

  it('connections that broke while idle are noticed by nobody', async () => {
    await withPool({ connectionString: proxy.url }, async (store) => {
      await Promise.all(Array.from({ length: 8 }, () => store.ping()))
      proxy.cut()
      await Promise.all(Array.from({ length: 8 }, (_, i) => store.reserve(attempt(`idle ${i}`))))
    })
  })

  it('an exhausted pool: DATABASE_UNAVAILABLE', async () => {
    await withPool({ max: 1, connectionTimeoutMillis: 50 }, async (store, own) => {
      const held = await own.connect()
      expect((await errorOf(store.ping())).code).toBe('DATABASE_UNAVAILABLE')
      held.release()
      await store.ping()
    })
  })

  it.each([{ statement_timeout: 100 }, { lock_timeout: 100 }])(
    '%o: DATABASE_UNAVAILABLE',
    async (timeout) => {
      const options = Object.entries(timeout).map(([name, value]) => `-c ${name}=${value}`)
      await withPool({ options: options.join(' ') }, async (store) => {
        await whileHeld('held', async () => {
          expect((await errorOf(store.reserve(attempt('held')))).code).toBe('DATABASE_UNAVAILABLE')
        })
        await store.reserve(attempt('held'))
      })
    },
  )

  it('transaction_timeout: DATABASE_UNAVAILABLE', async (test) => {
    const { rows } = await pool.query<{ version: number }>(
      `SELECT current_setting('server_version_num')::int AS version`,
    )
    test.skip(rows[0]!.version < 170_000, 'PostgreSQL has transaction_timeout from 17 on')
    await withPool({ options: '-c transaction_timeout=100' }, async (store) => {
      await whileHeld('held too long', async () => {
        const error = await errorOf(store.reserve(attempt('held too long')))
        expect(error.code).toBe('DATABASE_UNAVAILABLE')
        expect(error.cause).toMatchObject({ code: '25P04' })
      })
      await store.reserve(attempt('held too long'))
    })
  })

  it('a deadlock is repeated', async () => {
    const scope = 'deadlock'
    const holder = await pool.connect()
    // Who finds the deadlock is the one that is ended. The holder of the row never looks.
    const looksLate = { connectionString: proxy.url, options: '-c deadlock_timeout=2s' }
    await withPool(looksLate, async (store) => {
      await store.reserve(attempt('first', scope))
      await holder.query('BEGIN')
      await holder.query(`SET LOCAL deadlock_timeout = '1h'`)
      await holder.query(`SELECT 1 FROM ${quoted(schema)}.scope_usage WHERE scope = $1 FOR UPDATE`, [scope])
      proxy.roundTrips = 0
      const waiting = store.reserve(attempt('second', scope))
      await untilBlocked(1)
      // The store's call has the key and waits for the usage row; this has the usage row and waits for the key.
      await postgresAdapter(holder, { schema }).reserve(attempt('second', scope))
      await holder.query('ROLLBACK')
      expect(await waiting).toMatchObject({ key: 'second', status: 'pending' })
      expect(proxy.roundTrips).toBe(2)
      expect(await store.checkUsage()).toEqual([])
    }).finally(() => holder.release(true))
  })

  describe("a caller's own client in a transaction", () => {
    /** A store over a connection in a transaction, which is rolled back at the end. */
    async function inTransaction(use: (store: StorageObjectStore, client: pg.PoolClient) => Promise<void>) {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        await use(postgresAdapter(client, { schema }), client)
      } finally {
        await client.query('ROLLBACK')
        client.release()
      }
    }

    it('that has failed: DATABASE_UNAVAILABLE, and the operator reads what to do', async () => {
      await inTransaction(async (store, client) => {
        await client.query('SELECT 1 / 0').catch(() => {})
        for (const call of [() => store.ping(), () => store.reserve(attempt('failed before'))]) {
          const error = await errorOf(call())
          expect(error.code).toBe('DATABASE_UNAVAILABLE')
          expect(error.message).toContain('roll it back')
          expect(error.cause).toMatchObject({ code: '25P02' })
        }
      })
    })

    it('that is ended for a deadlock: the error is that one, not that of the repetition', async () => {
      const scope = 'deadlock of its own'
      await postgresAdapter(pool, { schema }).reserve(attempt('own first', scope))
      await inTransaction(async (other, otherClient) => {
        await otherClient.query(`SET LOCAL deadlock_timeout = '1h'`)
        await otherClient.query(`SELECT 1 FROM ${quoted(schema)}.scope_usage WHERE scope = $1 FOR UPDATE`, [
          scope,
        ])
        await inTransaction(async (store, client) => {
          await client.query(`SET LOCAL deadlock_timeout = '2s'`)
          const waiting = errorOf(store.reserve(attempt('own second', scope)))
          await untilBlocked(1)
          await other.reserve(attempt('own second', scope))
          expect((await waiting).cause).toMatchObject({ code: '40P01' })
        })
      })
    })
  })

  it('a session that is ended by an administrator is replaced', async () => {
    const store = postgresAdapter(pool, { schema })
    let waiting: Promise<unknown> = Promise.resolve()
    await whileHeld('ended', async (holder) => {
      waiting = store.reserve(attempt('ended'))
      const [pid] = await untilBlocked(1)
      await holder.query('SELECT pg_terminate_backend($1)', [pid])
      await untilBlocked(1, pid)
    })
    expect(await waiting).toMatchObject({ key: 'ended' })
  })

  it('another isolation level is refused, and said', async () => {
    await withPool({ options: '-c default_transaction_isolation=repeatable\\ read' }, async (store) => {
      const error = await errorOf(store.reserve(attempt('isolated')))
      expect(error.code).toBe('DATABASE_UNAVAILABLE')
      expect(error.message).toContain('READ COMMITTED')
      expect(await store.find({ bucket: BUCKET, key: 'isolated' })).toBeNull()
    })
  })

  describe('a read-only database: DATABASE_UNAVAILABLE, also where there is nothing to write:', () => {
    const id = createAttemptId()
    const there = { bucket: BUCKET, key: 'read-only there' }
    const nowhere = { bucket: BUCKET, key: 'read-only nowhere' }
    beforeAll(async () => {
      const store = postgresAdapter(pool, { schema })
      await store.reserve({ ...attempt(there.key), id, uploadId: 'upload' })
    })

    it.each<[string, (store: StorageObjectStore) => Promise<unknown>]>([
      ['reserve', (store) => store.reserve(attempt('read-only'))],
      ['reserve, refused', (store) => store.reserve({ ...attempt('read-only'), quota: { maxFiles: 0 } })],
      ['reserve for another', (store) => store.reserve(attempt(there.key, 'other'))],
      ['reserve, made before', (store) => store.reserve({ ...attempt(there.key), id })],
      ['confirm of nothing', (store) => store.confirm({ ...nowhere, size: 1 })],
      ['setUploadId, set before', (store) => store.setUploadId({ ...there, id, uploadId: 'upload' })],
      ['release of nothing', (store) => store.release(nowhere)],
      ['remove of nothing', (store) => store.remove(nowhere)],
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
    ])('%s', async (_, call) => {
      await withPool({ options: '-c default_transaction_read_only=on' }, async (store) => {
        const error = await errorOf(call(store))
        expect(error.code).toBe('DATABASE_UNAVAILABLE')
        expect(error.message).toContain('read-only')
      })
    })
  })

  it('a number that JavaScript would round is an error', async () => {
    await pool.query(
      `INSERT INTO ${quoted(schema)}.scope_usage (scope, bytes) VALUES ('too much', 9007199254740993)`,
    )
    await expect(postgresAdapter(pool, { schema }).getScopeUsage('too much')).rejects.toThrow(RangeError)
    await pool.query(`DELETE FROM ${quoted(schema)}.scope_usage WHERE scope = 'too much'`)
  })

  it('the settings of a session change nothing', async () => {
    const options =
      '-c TimeZone=Asia/Kathmandu -c DateStyle=SQL,DMY -c extra_float_digits=-15 -c IntervalStyle=iso_8601'
    const end = new Date('9999-12-31T23:59:59.999Z')
    const early = new Date('0001-01-01T00:00:00.001Z')
    await withPool({ options }, async (_, own) => {
      const store = postgresAdapter(own, { schema, now: () => early })
      const row = await store.reserve({ ...attempt('settings'), expiresAt: end })
      expect(row).toMatchObject({ createdAt: early, updatedAt: early, expiresAt: end })
      expect(await postgresAdapter(pool, { schema }).find({ bucket: BUCKET, key: 'settings' })).toEqual(row)
    })
  })

  /** Waits until that many sessions, other than one, wait for locks; resolves to their process ids. */
  async function untilBlocked(count: number, except = 0): Promise<number[]> {
    for (;;) {
      const { rows } = await pool.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity
         WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%' AND pid <> $2`,
        [quoted(schema), except],
      )
      if (rows.length >= count) return rows.map(({ pid }) => pid)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
})
