import type { StorageObjectStore } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import type pg from 'pg'
import { expect, it } from 'vitest'
import { describePostgres, inTransaction, poolOf, quoted, schemaOfEachTest } from './schemas.js'

const HOUR = 3_600_000

describePostgres('a purge beside an open transaction', (url) => {
  const pool = poolOf(url)
  let schema: string
  let store: StorageObjectStore
  schemaOfEachTest(pool, async (name) => {
    schema = name
    store = postgresAdapter(pool, { schema })
    await store.migrate()
  })

  const inHours = (hours: number) => new Date(Date.now() + hours * HOUR)
  const reserve = (scope: string, key: string, hours = 1, by = store) =>
    by.reserve({ scope, bucket: 'files', key, declaredSize: 5, expiresAt: inHours(hours) })
  /** Adds an object to the history. Returns its id, which is that of its attempt. */
  async function removed(scope: string, key: string): Promise<string> {
    const { id } = await reserve(scope, key)
    await store.confirm({ bucket: 'files', key, size: 5 })
    await store.remove({ bucket: 'files', key })
    return id
  }
  const holdSums = (holder: pg.PoolClient) =>
    reserve('eve', 'another', 4, postgresAdapter(holder, { schema }))
  const holdRows = (holder: pg.PoolClient) =>
    holder.query(`SELECT FROM ${quoted(schema)}.objects WHERE scope = 'eve' FOR UPDATE`)
  const later = () => postgresAdapter(pool, { schema, now: () => inHours(2) })

  it.each([
    {
      what: 'the sums of a scope',
      // The purge takes at most 200 rows in a transaction, and these expire first.
      held: Array.from({ length: 201 }, (_, index) => `eve/${index}`),
      hold: holdSums,
    },
    { what: 'a row, without the lock of its key', held: ['eve/0'], hold: holdRows },
  ])('that holds $what takes other reservations, and the next run those', async ({ held, hold }) => {
    await Promise.all(held.map((key) => reserve('eve', key, 0.5)))
    await reserve('ann', 'ann/0')
    await inTransaction(pool, async (holder) => {
      await hold(holder)
      expect(await later().purgeExpired({ limit: 1000 })).toMatchObject([{ key: 'ann/0' }])
    })
    expect(await later().purgeExpired({ limit: 1000 })).toHaveLength(held.length)
    expect(await store.checkUsage()).toEqual([])
  })

  it('locks no reservation whose key another write holds while it waits for the sums of that write', async () => {
    await reserve('eve', 'eve/0')
    await store.confirm({ bucket: 'files', key: 'eve/0', size: 5 })
    await reserve('eve', 'eve/0', 0.5)
    await reserve('eve', 'eve/1', 0.5)
    const lockPending = `SELECT FROM ${quoted(schema)}.objects WHERE key = 'eve/0' AND status = 'pending' FOR UPDATE SKIP LOCKED`
    await inTransaction(pool, async (holder) => {
      const own = postgresAdapter(holder, { schema })
      await own.update({ bucket: 'files', key: 'eve/0', filename: 'a.txt' })
      await holdSums(holder)
      let isOver = false
      const purging = later()
        .purgeExpired({ limit: 1000 })
        .finally(() => (isOver = true))
      // A write that waits for the row while the purge waits for it would be a deadlock.
      while (!isOver) expect((await pool.query(lockPending)).rowCount).toBe(1)
      expect(await purging).toEqual([])
    })
    expect(await later().purgeExpired({ limit: 1000 })).toHaveLength(2)
  })

  it.each<[string, (holder: pg.PoolClient) => Promise<unknown>]>([
    ['sums', holdSums],
    ['rows', holdRows],
  ])('drops the history of other scopes, and fails for the one whose %s are held', async (_, hold) => {
    const id = await removed('eve', 'eve')
    await removed('ann', 'ann')
    const before = inHours(1)
    await inTransaction(pool, async (holder) => {
      await hold(holder)
      expect(await later().purgeDeleted({ before })).toBe(1)
      // A result of 0 would tell a caller who names a scope or an object that its history is gone.
      for (const input of [{ before, scope: 'eve' }, { id }]) {
        const purging = later().purgeDeleted(input)
        await expect(purging).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true })
      }
    })
    expect(await later().purgeDeleted({ before })).toBe(1)
    expect(await store.checkUsage()).toEqual([])
  })

  it('drops what no foreign key of the application keeps, and fails for the scope of the rest', async () => {
    const table = `${quoted(schema)}.documents`
    await pool.query(`CREATE TABLE ${table} (file uuid REFERENCES ${quoted(schema)}.objects)`)
    const kept: string[] = []
    for (const [index, scope] of ['eve', 'eve', 'eve', 'ann'].entries()) {
      const id = await removed(scope, `${scope}/${index}`)
      if (index > 1) continue
      kept.push(id)
      await pool.query(`INSERT INTO ${table} VALUES ($1)`, [id])
    }
    const expired = await reserve('eve', 'kept')
    await pool.query(`INSERT INTO ${table} VALUES ($1)`, [expired.attemptId])
    await reserve('eve', 'other')

    expect(await store.verify()).toEqual([expect.stringContaining('foreign key documents_file_fkey of ')])
    expect(await later().purgeExpired({ limit: 1000 })).toMatchObject([{ key: 'other' }])
    const before = inHours(1)
    expect(await store.purgeDeleted({ before, limit: 1 })).toBe(1)
    expect(await store.purgeDeleted({ before, limit: 1 })).toBe(1)
    expect(await store.purgeDeleted({ before })).toBe(0)
    for (const input of [{ scope: 'eve', before }, { id: kept[0]! }]) {
      await expect(store.purgeDeleted(input)).rejects.toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        retryable: false,
        message: expect.stringContaining('foreign key of the application') as string,
      })
    }
    await pool.query(`DROP TABLE ${table}`)
    expect(await store.purgeDeleted({ scope: 'eve', before })).toBe(2)
    expect(await store.checkUsage()).toEqual([])
  })
})
