import type { StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { clientOf, freshDatabase, storesInEmptyCollections } from '../mongo/databases.js'
import { poolOf, storesInEmptySchemas } from '../postgres/schemas.js'

/** An adapter whose stores the cache wraps. */
export interface BaseAdapter {
  readonly name: string
  /** Creates a store over an empty database. */
  createStore(context: { readonly now: () => Date; readonly events?: boolean }): Promise<StorageObjectStore>
  close(store: StorageObjectStore): void
  end(): Promise<void>
}

export function memoryBase(): BaseAdapter {
  return {
    name: 'memoryAdapter',
    createStore: async ({ now, events }) => memoryAdapter({ now, events }),
    close: () => {},
    end: async () => {},
  }
}

export function postgresBase(url: string): BaseAdapter {
  const pool = poolOf(url)
  const stores = storesInEmptySchemas(pool)
  return {
    name: 'postgresAdapter',
    ...stores,
    async end() {
      await stores.drop()
      await pool.end()
    },
  }
}

export function mongoBase(url: string): BaseAdapter {
  const client = clientOf(url)
  const db = freshDatabase(client)
  return {
    name: 'mongoAdapter',
    ...storesInEmptyCollections(db),
    async end() {
      await db.dropDatabase()
      await client.close()
    },
  }
}
