import type { StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { postgresAdapter } from '../../../src/adapters/postgres/index.js'
import { clientOf, emptyPlaces as emptyMongoPlaces, freshDatabase } from '../mongo/places.js'
import { emptyPlaces, poolOf } from '../postgres/places.js'

/** An adapter under the cache. */
export interface Base {
  readonly name: string
  readonly numRuns: number
  /** A store over an empty place of its own. */
  createStore(context: { readonly now: () => Date }): Promise<StorageObjectStore>
  close(store: StorageObjectStore): void
  end(): Promise<void>
}

export function memoryBase(): Base {
  return {
    name: 'memoryAdapter',
    numRuns: 30,
    createStore: async ({ now }) => memoryAdapter({ now }),
    close: () => {},
    end: async () => {},
  }
}

export function postgresBase(url: string): Base {
  const pool = poolOf(url)
  const places = emptyPlaces(pool)
  const schemas = new WeakMap<StorageObjectStore, string>()
  return {
    name: 'postgresAdapter',
    numRuns: 12,
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

export function mongoBase(url: string): Base {
  const client = clientOf(url)
  const db = freshDatabase(client)
  const places = emptyMongoPlaces(db)
  const prefixes = new WeakMap<StorageObjectStore, string>()
  return {
    name: 'mongoAdapter',
    numRuns: 2,
    async createStore({ now }) {
      const collectionPrefix = await places.take()
      const store = mongoAdapter(db, { collectionPrefix, now })
      prefixes.set(store, collectionPrefix)
      return store
    },
    close: (store) => places.giveBack(prefixes.get(store)!),
    async end() {
      await db.dropDatabase()
      await client.close()
    },
  }
}
