import type pg from 'pg'
import { createAttemptId, type StorageObjectStore } from '@svc/db'
import { postgresAdapter } from '../../../src/adapters/postgres/index.js'
import { dropSchema, freshSchema } from '../postgres/schemas.js'

const HOUR = 3_600_000

/** A migrated schema for one test. */
export interface SeededSchema {
  readonly schema: string
  readonly store: StorageObjectStore
  /** Adds expired reservations of 1000 bytes each. */
  addExpired(scope: string, count: number): Promise<void>
  addActive(scope: string, key: string, size: number, route?: string): Promise<void>
  drop(): Promise<void>
}

export async function seededSchema(
  pool: pg.Pool,
  { events }: { readonly events?: boolean } = {},
): Promise<SeededSchema> {
  const schema = freshSchema()
  const store = postgresAdapter(pool, { schema, events })
  const yesterday = postgresAdapter(pool, { schema, now: () => new Date(Date.now() - 24 * HOUR) })
  await store.migrate()
  return {
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
    drop: () => dropSchema(pool, schema),
  }
}
