import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

const BUCKET = 'bucket'
/** Postgres stores this in a second table, because it does not fit into a page and random text does not compress. */
const METADATA = Object.fromEntries(
  Array.from({ length: 30 }, (_, index) => [`name ${index}`, randomBytes(250).toString('hex')]),
)

describePostgres('metadata of 16 kB', (url) => {
  const schema = freshSchema()
  const pool = poolOf(url, { max: 1 })
  const store = postgresAdapter(pool, { schema })
  beforeAll(async () => {
    await store.migrate()
    const expiresAt = new Date(Date.now() + 60_000)
    for (const key of ['pending', 'active', 'deleted']) {
      const attempt = { scope: 'owner', bucket: BUCKET, key, declaredSize: 1, expiresAt, route: 'photos' }
      await store.reserve({ ...attempt, metadata: METADATA })
      if (key !== 'pending') await store.confirm({ bucket: BUCKET, key, size: 1 })
      if (key === 'deleted') await store.remove({ bucket: BUCKET, key })
    }
  })
  afterAll(async () => {
    await dropSchema(pool, schema)
    await pool.end()
  })

  const finds = ['find', 'findActive', 'findPending'] as const
  const statuses = [undefined, 'pending', 'active', 'deleted'] as const
  const lists = statuses.flatMap((status) => [{ status }, { status, route: 'photos' }])

  it.each(finds)('is not read by %s for another scope', async (find) => {
    for (const key of ['pending', 'active', 'deleted']) {
      expect(await longValuesReadBy(() => store[find]({ bucket: BUCKET, key, scope: 'other' }))).toBe(0)
    }
  })

  it('is read by find for its own scope', async () => {
    for (const key of ['pending', 'active', 'deleted']) {
      const find = async () =>
        expect(await store.find({ bucket: BUCKET, key, scope: 'owner' })).toMatchObject({
          metadata: METADATA,
        })
      expect(await longValuesReadBy(find)).toBe(1)
    }
  })

  it.each(lists)('is read by listByScope(%o) only if it is asked for', async (filter) => {
    const list = (withMetadata: boolean) => async () => {
      const { objects } = await store.listByScope({ scope: 'owner', ...filter, withMetadata })
      expect(objects.map(({ metadata }) => metadata)).toEqual(
        objects.map(() => (withMetadata ? METADATA : null)),
      )
      expect(objects).not.toEqual([])
    }
    expect(await longValuesReadBy(list(false))).toBe(0)
    expect(await longValuesReadBy(list(true))).toBeGreaterThan(0)
  })

  /** Returns how many values the call reads from the second table of `objects`, as Postgres counts them. */
  async function longValuesReadBy(call: () => Promise<unknown>): Promise<number> {
    await pool.query('BEGIN')
    try {
      const before = await longValuesRead(pool)
      await call()
      return (await longValuesRead(pool)) - before
    } finally {
      await pool.query('ROLLBACK')
    }
  }

  async function longValuesRead(client: pg.Pool): Promise<number> {
    const { rows } = await client.query<{ reads: string }>(
      `SELECT s.idx_scan AS reads FROM pg_class c JOIN pg_stat_xact_all_tables s ON s.relid = c.reltoastrelid
       WHERE c.oid = $1::regclass`,
      [`${quoted(schema)}.objects`],
    )
    return Number(rows[0]!.reads)
  }
})
