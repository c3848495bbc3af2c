import { afterAll, beforeAll } from 'vitest'
import { createAttemptId } from '@svc/db'
import { postgresAdapter } from '../../../src/adapters/postgres/index.js'
import { dropSchema, freshSchema, poolOf } from '../postgres/schemas.js'

const HOUR = 3_600_000

/** Migrates a schema before the tests of a block, and drops it after them. */
export function seededSchema(url: string, { events }: { readonly events?: boolean } = {}) {
  const pool = poolOf(url)
  const schema = freshSchema()
  const store = postgresAdapter(pool, { schema, events })
  const yesterday = postgresAdapter(pool, { schema, now: () => new Date(Date.now() - 24 * HOUR) })
  beforeAll(async () => {
    await store.migrate()
  })
  afterAll(async () => {
    await dropSchema(pool, schema)
    await pool.end()
  })
  return {
    pool,
    schema,
    store,
    /** Adds expired reservations of 1000 bytes each. */
    async addExpired(scope: string, count: number) {
      const expiresAt = new Date(Date.now() - 23 * HOUR)
      const keys = Array.from({ length: count }, (_, index) => `expired/${index}`)
      await Promise.all(
        keys.map((key) =>
          yesterday.reserve({
            scope,
            bucket: 'files',
            key,
            declaredSize: 1000,
            expiresAt,
            storageKey: `${key}~`,
          }),
        ),
      )
    },
    async addActive(scope: string, key: string, size: number, route?: string) {
      const id = createAttemptId()
      const expiresAt = new Date(Date.now() + HOUR)
      await store.reserve({ scope, bucket: 'files', key, declaredSize: size, expiresAt, id, route })
      await store.confirm({ bucket: 'files', key, id, size })
    },
  }
}
