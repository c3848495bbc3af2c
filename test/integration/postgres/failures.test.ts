import { createAttemptId, type StorageObjectStore } from '@svc/db'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { attempt, BUCKET, errorOf } from './attempt.js'
import { everyCall } from './every-call.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

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

  /** Runs `use` while another transaction holds the row and the key of this attempt. */
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

  describe('on a schema that was never migrated', () => {
    const store = postgresAdapter(pool, { schema: freshSchema() })
    for (const { name, call } of everyCall('scope', () => new Date())) {
      if (name === 'ping' || name.endsWith('refused')) continue
      it(`${name} throws an error that names migrate()`, async () => {
        const error = await errorOf(call(store))
        expect(error.code).toBe('DATABASE_UNAVAILABLE')
        expect(error.message).toContain('migrate()')
        expect(error.retryable).toBe(false)
        expect(error.cause).toBeInstanceOf(Error)
      })
    }
    it.each(['checkUsage', 'repairUsage'] as const)(
      '%s throws an error that names migrate()',
      async (name) => {
        expect((await errorOf(store[name]())).message).toContain('migrate()')
      },
    )
  })

  it('throws DATABASE_UNAVAILABLE with the cause if there is no server', async () => {
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
        expect(error.retryable).toBe(true)
        expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' })
      }
    })
  })

  it('repeats a reserve whose response was lost, and reserves once', async () => {
    await withPool({ connectionString: proxy.url }, async (store) => {
      await store.ping()
      proxy.dropNextResponse()
      const row = await store.reserve(attempt('lost reserve', 'lost'))
      expect(await store.findPending({ bucket: BUCKET, key: 'lost reserve' })).toEqual(row)
      expect(await store.countByScope('lost')).toBe(1)
    })
  })

  it('repeats a confirm whose response was lost if it has an id, and otherwise throws', async () => {
    await withPool({ connectionString: proxy.url }, async (store) => {
      const { id } = await store.reserve(attempt('lost confirm', 'lost'))
      proxy.dropNextResponse()
      const row = await store.confirm({ bucket: BUCKET, key: 'lost confirm', id, size: 5 })
      expect(row).toMatchObject({ status: 'active', attemptId: id })

      await store.reserve(attempt('lost confirm', 'lost'))
      proxy.dropNextResponse()
      const error = await errorOf(store.confirm({ bucket: BUCKET, key: 'lost confirm', size: 6 }))
      expect(error.code).toBe('DATABASE_UNAVAILABLE')
      expect(await store.findActive({ bucket: BUCKET, key: 'lost confirm' })).toMatchObject({ size: 6 })
      expect(await store.checkUsage()).toEqual([])
    })
  })

  it('repeats an update, transfer or adopt whose response was lost', async () => {
    const scope = 'lost change'
    const at = { bucket: BUCKET, key: 'lost change' }
    await withPool({ connectionString: proxy.url, max: 1 }, async (store) => {
      await store.reserve(attempt('lost change', scope))
      await store.confirm({ ...at, size: 5 })
      proxy.dropNextResponse()
      expect(await store.update({ ...at, filename: 'a.txt' })).toMatchObject({ filename: 'a.txt' })
      proxy.dropNextResponse()
      const quota = { maxBytes: 5, maxFiles: 1 }
      expect(await store.transfer({ ...at, from: scope, to: 'lost too', quota })).toMatchObject({
        scope: 'lost too',
      })
      const bytes = { bucket: BUCKET, storageKey: 'lost bytes', size: 7, createdAt: new Date() }
      proxy.dropNextResponse()
      const { object, known } = await store.adopt({ ...bytes, scope, key: 'lost adopt' })
      expect({ object, known }).toMatchObject({ object: { scope, key: 'lost adopt' }, known: false })
      expect(await store.getScopeUsage(scope)).toMatchObject({ bytes: 7, files: 1 })
      expect(await store.getScopeUsage('lost too')).toMatchObject({ bytes: 5, files: 1 })
      expect(await store.checkUsage()).toEqual([])
    })
  })

  it('throws if the response to remove was lost, and the pool keeps working', async () => {
    await withPool({ connectionString: proxy.url, max: 1 }, async (store, own) => {
      await store.reserve(attempt('lost remove'))
      proxy.dropNextResponse()
      expect((await errorOf(store.remove({ bucket: BUCKET, key: 'lost remove' }))).code).toBe(
        'DATABASE_UNAVAILABLE',
      )
      expect(await store.find({ bucket: BUCKET, key: 'lost remove' })).toBeNull()
      expect(own.totalCount).toBe(1)
      expect(own.idleCount).toBe(1)
    })
  })

  it('survives connections that broke while idle', async () => {
    await withPool({ connectionString: proxy.url }, async (store) => {
      await Promise.all(Array.from({ length: 8 }, () => store.ping()))
      proxy.cut()
      await Promise.all(Array.from({ length: 8 }, (_, i) => store.reserve(attempt(`idle ${i}`))))
    })
  })

  it('throws DATABASE_UNAVAILABLE if the pool is exhausted', async () => {
    await withPool({ max: 1 }, async (store, own) => {
      const held = await own.connect()
      // Only now, because the first connection may take longer on a busy machine.
      own.options.connectionTimeoutMillis = 50
      expect((await errorOf(store.ping())).code).toBe('DATABASE_UNAVAILABLE')
      held.release()
      await store.ping()
    })
  })

  it.each([{ statement_timeout: 100 }, { lock_timeout: 100 }])(
    'throws DATABASE_UNAVAILABLE after %o',
    async (timeout) => {
      const options = Object.entries(timeout).map(([name, value]) => `-c ${name}=${value}`)
      await withPool({ options: options.join(' ') }, async (store) => {
        await whileHeld('held', async () => {
          const error = await errorOf(store.reserve(attempt('held')))
          expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true })
        })
      })
      await postgresAdapter(pool, { schema }).reserve(attempt('held'))
    },
  )

  it('throws DATABASE_UNAVAILABLE after transaction_timeout', async (test) => {
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
    })
    await postgresAdapter(pool, { schema }).reserve(attempt('held too long'))
  })

  it('repeats a call that was rolled back for a deadlock', async () => {
    const scope = 'deadlock'
    const holder = await pool.connect()
    // Postgres rolls back the session that detects the deadlock. The holder of the row never checks for one.
    const detectsDeadlocks = { connectionString: proxy.url, options: '-c deadlock_timeout=2s' }
    await withPool(detectsDeadlocks, async (store) => {
      await store.reserve(attempt('first', scope))
      await holder.query('BEGIN')
      await holder.query(`SET LOCAL deadlock_timeout = '1h'`)
      await holder.query(`SELECT 1 FROM ${quoted(schema)}.scope_usage WHERE scope = $1 FOR UPDATE`, [scope])
      proxy.roundTrips = 0
      const waiting = store.reserve(attempt('second', scope))
      await untilBlocked(1)
      // The call of the store holds the key and waits for the usage row. This one holds the usage row and waits for the
      // key.
      await postgresAdapter(holder, { schema }).reserve(attempt('second', scope))
      await holder.query('ROLLBACK')
      expect(await waiting).toMatchObject({ key: 'second', status: 'pending' })
      expect(proxy.roundTrips).toBe(2)
      expect(await store.checkUsage()).toEqual([])
    }).finally(() => holder.release(true))
  })

  describe("on a caller's own client in a transaction", () => {
    /** Runs `use` with a store over a client in a transaction, and rolls back afterwards. */
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

    it('throws DATABASE_UNAVAILABLE and tells the operator to roll back if the transaction had failed', async () => {
      await inTransaction(async (store, client) => {
        await client.query('SELECT 1 / 0').catch(() => {})
        for (const call of [() => store.ping(), () => store.reserve(attempt('failed before'))]) {
          const error = await errorOf(call())
          expect(error.code).toBe('DATABASE_UNAVAILABLE')
          expect(error.message).toContain('Call ROLLBACK')
          expect(error.cause).toMatchObject({ code: '25P02' })
        }
      })
    })

    it('reports the deadlock that rolled the transaction back, not the failed repeat', async () => {
      const scope = 'deadlock in a transaction'
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

  it('replaces a session that an administrator terminated', async () => {
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

  it('refuses another isolation level with a message that names the right one', async () => {
    await withPool({ options: '-c default_transaction_isolation=repeatable\\ read' }, async (store) => {
      const error = await errorOf(store.reserve(attempt('isolated')))
      expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: false })
      expect(error.message).toContain('READ COMMITTED')
      expect(await store.find({ bucket: BUCKET, key: 'isolated' })).toBeNull()
    })
  })

  describe('throws DATABASE_UNAVAILABLE on a read-only database, even with nothing to write:', () => {
    const id = createAttemptId()
    const existing = { bucket: BUCKET, key: 'read-only existing' }
    const missing = { bucket: BUCKET, key: 'read-only missing' }
    beforeAll(async () => {
      const store = postgresAdapter(pool, { schema })
      await store.reserve({ ...attempt(existing.key), id, uploadId: 'upload' })
    })

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
    ])('%s', async (_, call) => {
      await withPool({ options: '-c default_transaction_read_only=on' }, async (store) => {
        const error = await errorOf(call(store))
        expect(error.code).toBe('DATABASE_UNAVAILABLE')
        expect(error.message).toContain('read-only')
      })
    })
  })

  it('throws if JavaScript would round a number', async () => {
    await pool.query(
      `INSERT INTO ${quoted(schema)}.scope_usage (scope, bytes) VALUES ('too much', 9007199254740993)`,
    )
    await expect(postgresAdapter(pool, { schema }).getScopeUsage('too much')).rejects.toThrow(RangeError)
    await pool.query(`DELETE FROM ${quoted(schema)}.scope_usage WHERE scope = 'too much'`)
  })

  it('does not depend on session settings', async () => {
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

  /** Waits until this many sessions wait for a lock, and returns their process ids. Ignores the session `except`. */
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
