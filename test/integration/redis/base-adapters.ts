import type { StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { postgresAdapter } from '../../../src/adapters/postgres/index.js'
import { clientOf, emptyNamespaces, freshDatabase } from '../mongo/databases.js'
import { emptySchemas, poolOf } from '../postgres/schemas.js'

/** An adapter whose stores the cache wraps. */
export interface BaseAdapter {
  readonly name: string
  /** Creates a store over an empty database. */
  createStore(context: { readonly now: () => Date }): Promise<StorageObjectStore>
  close(store: StorageObjectStore): void
  end(): Promise<void>
}

export function memoryBase(): BaseAdapter {
  return {
    name: 'memoryAdapter',
    createStore: async ({ now }) => memoryAdapter({ now }),
    close: () => {},
    end: async () => {},
  }
}

export function postgresBase(url: string): BaseAdapter {
  const pool = poolOf(url)
  const places = emptySchemas(pool)
  const schemas = new WeakMap<StorageObjectStore, string>()
  return {
    name: 'postgresAdapter',
    async createStore({ now }) {
      const schema = await places.take()
      const store = postgresAdapter(pool, { schema, now })
      schemas.set(store, schema)
      return store
    },
    close: (store) => places.giveBack(schemas.get(store)!),
    async end() {
      await places.drop()
      await pool.end()
    },
  }
}

export function mongoBase(url: string): BaseAdapter {
  const client = clientOf(url)
  const db = freshDatabase(client)
  const namespaces = emptyNamespaces(db)
  const prefixes = new WeakMap<StorageObjectStore, string>()
  return {
    name: 'mongoAdapter',
    async createStore({ now }) {
      const collectionPrefix = await namespaces.take()
      const store = mongoAdapter(db, { collectionPrefix, now })
      prefixes.set(store, collectionPrefix)
      return store
    },
    close: (store) => namespaces.giveBack(prefixes.get(store)!),
    async end() {
      await db.dropDatabase()
      await client.close()
    },
  }
}
