import { randomBytes } from 'node:crypto'
import type { StorageObjectStore } from '@svc/db'
import { beforeAll, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describePostgres, inTransaction, migratedSchema, poolOf, quoted } from './schemas.js'

const BUCKET = 'bucket'
/** Postgres stores this in a second table, because it does not fit into a page and random text does not compress. */
const METADATA = Object.fromEntries(
  Array.from({ length: 30 }, (_, index) => [`name ${index}`, randomBytes(250).toString('hex')]),
)

describePostgres('metadata of 16 kB', (url) => {
  const pool = poolOf(url)
  const schema = migratedSchema(pool)
  const store = postgresAdapter(pool, { schema })
  beforeAll(async () => {
    const expiresAt = new Date(Date.now() + 60_000)
    for (const key of ['pending', 'active', 'deleted']) {
      const attempt = { scope: 'owner', bucket: BUCKET, key, declaredSize: 1, expiresAt, route: 'photos' }
      await store.reserve({ ...attempt, metadata: METADATA })
      if (key !== 'pending') await store.confirm({ bucket: BUCKET, key, size: 1 })
      if (key === 'deleted') await store.remove({ bucket: BUCKET, key })
    }
  })

  const KEYS = ['pending', 'active', 'deleted']
  const statuses = [undefined, 'pending', 'active', 'deleted'] as const
  const lists = statuses.flatMap((status) => [{ status }, { status, route: 'photos' }])

  it.each(['find', 'findActive', 'findPending'] as const)(
    'is not read by %s for another scope',
    async (find) => {
      for (const key of KEYS) {
        expect(await longValuesReadBy((by) => by[find]({ bucket: BUCKET, key, scope: 'other' }))).toBe(0)
      }
    },
  )

  it('is read by find for its own scope', async () => {
    for (const key of KEYS) {
      const found = { metadata: METADATA }
      const find = async (by: StorageObjectStore) =>
        expect(await by.find({ bucket: BUCKET, key, scope: 'owner' })).toMatchObject(found)
      expect(await longValuesReadBy(find)).toBe(1)
    }
  })

  it.each(lists)('is read by listByScope(%o) only if it is asked for', async (filter) => {
    const list = (withMetadata: boolean) => async (by: StorageObjectStore) => {
      const { objects } = await by.listByScope({ scope: 'owner', ...filter, withMetadata })
      expect(objects.map(({ metadata }) => metadata)).toEqual(
        objects.map(() => (withMetadata ? METADATA : null)),
      )
      expect(objects).not.toEqual([])
    }
    expect(await longValuesReadBy(list(false))).toBe(0)
    expect(await longValuesReadBy(list(true))).toBeGreaterThan(0)
  })

  /** Returns how many values the call reads from the second table of `objects`, as Postgres counts them. */
  async function longValuesReadBy(call: (by: StorageObjectStore) => Promise<unknown>): Promise<number> {
    const counts: number[] = []
    await inTransaction(pool, async (client) => {
      const count = async () => {
        const { rows } = await client.query<{ reads: string }>(
          `SELECT s.idx_scan AS reads FROM pg_class c JOIN pg_stat_xact_all_tables s ON s.relid = c.reltoastrelid
           WHERE c.oid = $1::regclass`,
          [`${quoted(schema)}.objects`],
        )
        counts.push(Number(rows[0]!.reads))
      }
      await count()
      await call(postgresAdapter(client, { schema }))
      await count()
    })
    return counts[1]! - counts[0]!
  }
})
