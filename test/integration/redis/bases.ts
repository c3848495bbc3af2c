import type { StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { postgresAdapter } from '../../../src/adapters/postgres/index.js'
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
