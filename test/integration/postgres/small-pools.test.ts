import { postgresAdapter } from '@svc/db/postgres'
import type { StorageObjectStore } from '@svc/db'
import type pg from 'pg'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { attempt } from './attempt.js'
import { describePostgres, poolOf, schemaOfEachTest, untilBlocked } from './schemas.js'

const UPLOADS = 50

describePostgres('uploads of a scope that a transaction holds', (url) => {
  const pool = poolOf(url)
  let schema: string
  schemaOfEachTest(pool, async (name) => {
    schema = name
    await postgresAdapter(pool, { schema }).migrate()
  })

  describe.each([2, 3, 10])('leave a connection of %d', (max) => {
    it('of pg', async () => {
      const small = poolOf(url, { max })
      await expectFlow(postgresAdapter(small, { schema }), pool)
      await small.end()
    })

    it('of postgres.js', async () => {
      const sql = postgres(url, { max, fetch_types: false })
      await expectFlow(postgresAdapter(sql, { schema }), pool)
      await sql.end()
    })
  })

  it('leave a connection of 3 of pg, one of which has the transaction', async () => {
    const small = poolOf(url, { max: 3 })
    await expectFlow(postgresAdapter(small, { schema }), small)
    await small.end()
  })

  /** Expects that calls of other scopes end while uploads wait for a transaction of the other pool. */
  async function expectFlow(store: StorageObjectStore, holders: { connect(): Promise<pg.PoolClient> }) {
    const holder = await holders.connect()
    await holder.query('BEGIN')
    await postgresAdapter(holder, { schema }).reserve(attempt('0', 'held'))
    let ended = 0
    const uploads = Array.from({ length: UPLOADS }, (_, index) =>
      store.reserve(attempt(`${index}`, 'held')).finally(() => ended++),
    )
    const all = Promise.allSettled(uploads)
    await untilBlocked(pool, schema)
    expect(await store.getScopeUsage('other')).toMatchObject({ files: 0 })
    expect(await store.reserve(attempt('other', 'other'))).toMatchObject({ key: 'other' })
    expect((await store.listByScope({ scope: 'other' })).objects).toHaveLength(1)
    expect(ended).toBe(0)
    await holder.query('ROLLBACK')
    holder.release()
    expect((await all).map(({ status }) => status)).toEqual(Array(UPLOADS).fill('fulfilled'))
  }
})
