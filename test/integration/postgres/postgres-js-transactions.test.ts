import type { TransactionSql } from 'postgres'
import { beforeAll, expect, it, vi } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { attempt, BUCKET, errorOf } from './attempt.js'
import { describePostgresJs } from './postgres-js.js'
import { quoted } from './schemas.js'

describePostgresJs(
  'postgresAdapter over postgres.js in one transaction with rows of the application',
  (server) => {
    const { schema, pool, open, storeOf } = server
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
      const sql = open({ max: 1, onnotice: () => {} }, server.proxy.url)
      const reconnected = vi.fn()
      const transaction = sql.begin(async (tx) => {
        await insert(tx, 'lost with its connection')
        const store = storeOf(tx)
        server.proxy.dropNextResponse()
        expect((await errorOf(store.reserve(attempt('first after loss')))).code).toBe('DATABASE_UNAVAILABLE')
        // The instance opens a connection for this, which the transaction's calls must not use.
        await sql`SELECT 1`.then(reconnected)
        const again = errorOf(store.reserve(attempt('second after loss')))
        expect((await again).code).toBe('DATABASE_UNAVAILABLE')
      })
      await expect(transaction).rejects.toThrow()
      await expect.poll(() => reconnected).toHaveBeenCalled()
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
      const sql = open({ max: 1 }, server.proxy.url)
      const transaction = sql.begin(async (tx) => {
        await tx`SET LOCAL deadlock_timeout = '2s'`
        server.proxy.roundTrips = 0
        const waiting = errorOf(storeOf(tx).reserve(attempt('own second', scope)))
        await untilBlocked()
        // Waits for the key that the transaction holds, which waits for the usage row that this one holds.
        await postgresAdapter(holder, { schema }).reserve(attempt('own second', scope))
        expect((await waiting).cause).toMatchObject({ code: '40P01' })
        expect(server.proxy.roundTrips).toBe(1)
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
  },
)
