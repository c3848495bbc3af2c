import { postgresAdapter } from '@svc/db/postgres'
import type pg from 'pg'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

const HOUR = 3_600_000

describePostgres('a purge beside an open transaction', (url) => {
  const pool = poolOf(url)
  let schema: string
  beforeEach(async () => {
    schema = freshSchema()
    await postgresAdapter(pool, { schema }).migrate()
  })
  afterEach(() => dropSchema(pool, schema))
  afterAll(() => pool.end())

  const reservation = (scope: string, key: string) => ({ scope, bucket: 'files', key, declaredSize: 5 })
  const later = () => postgresAdapter(pool, { schema, now: () => new Date(Date.now() + 2 * HOUR) })

  it.each([
    {
      what: 'the sums of a scope',
      // The purge takes at most 200 rows in a transaction, and these expire first.
      held: Array.from({ length: 201 }, (_, index) => `eve/${index}`),
      hold: (holder: pg.PoolClient) =>
        postgresAdapter(holder, { schema }).reserve({
          ...reservation('eve', 'another'),
          expiresAt: new Date(Date.now() + 4 * HOUR),
        }),
    },
    {
      what: 'a row, without the lock of its key',
      held: ['eve/0'],
      hold: (holder: pg.PoolClient) =>
        holder.query(`SELECT FROM ${quoted(schema)}.objects WHERE scope = 'eve' FOR UPDATE`),
    },
  ])('that holds $what takes other reservations, and the next run those', async ({ held, hold }) => {
    const store = postgresAdapter(pool, { schema })
    const expiresAt = new Date(Date.now() + HOUR / 2)
    await Promise.all(held.map((key) => store.reserve({ ...reservation('eve', key), expiresAt })))
    await store.reserve({ ...reservation('ann', 'ann/0'), expiresAt: new Date(Date.now() + HOUR) })
    const holder = await pool.connect()
    try {
      await holder.query('BEGIN')
      await hold(holder)
      expect(await later().purgeExpired({ limit: 1000 })).toMatchObject([{ key: 'ann/0' }])
    } finally {
      await holder.query('ROLLBACK')
      holder.release()
    }
    expect(await later().purgeExpired({ limit: 1000 })).toHaveLength(held.length)
    expect(await store.checkUsage()).toEqual([])
  })

  it.each<[string, (holder: pg.PoolClient) => Promise<unknown>]>([
    [
      'sums',
      (holder) =>
        postgresAdapter(holder, { schema }).reserve({
          ...reservation('eve', 'another'),
          expiresAt: new Date(Date.now() + HOUR),
        }),
    ],
    [
      'rows',
      (holder) => holder.query(`SELECT FROM ${quoted(schema)}.objects WHERE scope = 'eve' FOR UPDATE`),
    ],
  ])('drops the history of other scopes, and fails for the one whose %s are held', async (_, hold) => {
    const store = postgresAdapter(pool, { schema })
    const expiresAt = new Date(Date.now() + HOUR)
    for (const scope of ['eve', 'ann']) {
      await store.reserve({ ...reservation(scope, scope), expiresAt })
      await store.confirm({ bucket: 'files', key: scope, size: 5 })
      await store.remove({ bucket: 'files', key: scope })
    }
    const before = new Date(Date.now() + HOUR)
    const holder = await pool.connect()
    try {
      await holder.query('BEGIN')
      await hold(holder)
      expect(await later().purgeDeleted({ before })).toBe(1)
      // `eraseScope` must not take the history for gone.
      await expect(later().purgeDeleted({ before, scope: 'eve' })).rejects.toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        retryable: true,
      })
    } finally {
      await holder.query('ROLLBACK')
      holder.release()
    }
    expect(await later().purgeDeleted({ before })).toBe(1)
    expect(await store.checkUsage()).toEqual([])
  })

  it('drops what no foreign key of the application keeps, and fails for the scope of the rest', async () => {
    const store = postgresAdapter(pool, { schema })
    const table = `${quoted(schema)}.documents`
    await pool.query(`CREATE TABLE ${table} (file uuid REFERENCES ${quoted(schema)}.objects)`)
    for (const [index, scope] of ['eve', 'eve', 'eve', 'ann'].entries()) {
      const key = `${scope}/${index}`
      const expiresAt = new Date(Date.now() + HOUR)
      const { attemptId } = await store.reserve({ ...reservation(scope, key), expiresAt })
      await store.confirm({ bucket: 'files', key, size: 5 })
      await store.remove({ bucket: 'files', key })
      if (index < 2) await pool.query(`INSERT INTO ${table} VALUES ($1)`, [attemptId])
    }
    const expired = await store.reserve({
      ...reservation('eve', 'kept'),
      expiresAt: new Date(Date.now() + HOUR),
    })
    await pool.query(`INSERT INTO ${table} VALUES ($1)`, [expired.attemptId])
    await store.reserve({ ...reservation('eve', 'other'), expiresAt: new Date(Date.now() + HOUR) })

    expect(await store.verify()).toEqual([expect.stringContaining('foreign key documents_file_fkey of ')])
    expect(await later().purgeExpired({ limit: 1000 })).toMatchObject([{ key: 'other' }])
    const before = new Date(Date.now() + HOUR)
    expect(await store.purgeDeleted({ before, limit: 1 })).toBe(1)
    expect(await store.purgeDeleted({ before, limit: 1 })).toBe(1)
    expect(await store.purgeDeleted({ before })).toBe(0)
    await expect(store.purgeDeleted({ scope: 'eve', before })).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      retryable: false,
      message: expect.stringContaining('foreign key of the application') as string,
    })
    await pool.query(`DROP TABLE ${table}`)
    expect(await store.purgeDeleted({ scope: 'eve', before })).toBe(2)
    expect(await store.checkUsage()).toEqual([])
  })
})
