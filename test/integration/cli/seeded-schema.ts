import type pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { createAttemptId, type StorageObjectStore } from '@svc/db'
import { postgresAdapter } from '../../../src/adapters/postgres/index.js'
import { dropSchema, freshSchema, poolOf } from '../postgres/schemas.js'

const HOUR = 3_600_000

export interface SeededSchema {
  readonly pool: pg.Pool
  readonly schema: string
  readonly store: StorageObjectStore
  /** Adds expired reservations of 1000 bytes each. */
  addExpired(scope: string, count: number): Promise<void>
  addActive(scope: string, key: string, size: number, route?: string): Promise<void>
}

/** Migrates a schema before the tests of a block, and drops it after them. */
export function seededSchema(url: string, { events }: { readonly events?: boolean } = {}): SeededSchema {
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
    async addExpired(scope, count) {
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
    async addActive(scope, key, size, route) {
      const id = createAttemptId()
      const expiresAt = new Date(Date.now() + HOUR)
      await store.reserve({ scope, bucket: 'files', key, declaredSize: size, expiresAt, id, route })
      await store.confirm({ bucket: 'files', key, id, size })
    },
  }
}
