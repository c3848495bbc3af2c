import { randomBytes } from 'node:crypto'
import type { StorageObjectStore } from '@svc/db'
import { MongoClient, type Db, type MongoClientOptions } from 'mongodb'
import { MongoClient as MongoClient6 } from 'mongodb6'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { describeWithServer } from '../../servers/describe-with-server.js'

/** Registers tests on the shared server, or a visible skip if there is none. */
export function describeMongo(title: string, body: (url: string) => void): void {
  describeWithServer('mongodb', title, body)
}

/** The supported drivers. Their types don't differ in anything that the adapter uses. */
export const DRIVERS = {
  7: MongoClient,
  6: MongoClient6 as unknown as typeof MongoClient,
} as const

export type DriverVersion = keyof typeof DRIVERS

export function clientOf(
  url: string,
  options: MongoClientOptions = {},
  driver: DriverVersion = 7,
): MongoClient {
  return new DRIVERS[driver](url, options)
}

/** Returns a database that no other test uses. */
export function freshDatabase(client: MongoClient): Db {
  return client.db(`test_${randomBytes(6).toString('hex')}`)
}

const COLLECTIONS = ['objects', 'history', 'leftovers', 'events']

export interface StoreContext {
  readonly now: () => Date
  /** Whether events are on. Default: `false`. */
  readonly events?: boolean | undefined
}

/** Collections of a store, which keep their switch of events. */
interface Collections {
  readonly prefix: string
  readonly events: boolean
}

/** Stores for a suite that needs hundreds. Each has empty, migrated collections. */
export interface EmptyStores {
  createStore(context: StoreContext): Promise<StorageObjectStore>
  /** Creates a store on collections that don't exist. */
  createEmpty(context: StoreContext): StorageObjectStore
  /** Creates a second store on the collections of another. */
  reopen(store: StorageObjectStore, context: StoreContext): StorageObjectStore
  /** Spoils the recorded usage of a scope. */
  tamper(store: StorageObjectStore, scope: string): Promise<void>
  /** Lets a later store use the collections again. */
  close(store: StorageObjectStore): void
}

export function storesInEmptyCollections(db: Db): EmptyStores {
  let created = 0
  const free: Collections[] = []
  const collectionsOf = new Map<StorageObjectStore, Collections>()

  async function emptyCollections(events: boolean): Promise<Collections> {
    const position = free.findIndex((collections) => collections.events === events)
    const [used] = position < 0 ? [] : free.splice(position, 1)
    if (used) {
      // At once, because each waits until a majority of the members has its writes.
      const empty = (name: string) =>
        db.collection(used.prefix + name).deleteMany({}, { writeConcern: { w: 'majority' } })
      await Promise.all(COLLECTIONS.map(empty))
      return used
    }
    const prefix = `namespace ${++created}.`
    await mongoAdapter(db, { collectionPrefix: prefix, events }).migrate()
    return { prefix, events }
  }

  return {
    async createStore({ now, events = false }) {
      const collections = await emptyCollections(events)
      const store = mongoAdapter(db, { collectionPrefix: collections.prefix, now, events })
      collectionsOf.set(store, collections)
      return store
    },
    createEmpty({ now }) {
      return mongoAdapter(db, { collectionPrefix: `namespace ${++created}.`, now })
    },
    reopen(store, { now }) {
      return mongoAdapter(db, { collectionPrefix: collectionsOf.get(store)!.prefix, now })
    },
    async tamper(store, scope) {
      const sums = db.collection<{ _id: string }>(`${collectionsOf.get(store)!.prefix}objects`)
      await sums.updateOne({ _id: scope }, { $inc: { bytes: 1, files: 1 } })
    },
    close(store) {
      // Reopened stores share the collections of another, and empty places are used once.
      const collections = collectionsOf.get(store)
      if (collections) free.push(collections)
      collectionsOf.delete(store)
    },
  }
}

/** Returns the documents of keys without live rows. There must be none. */
export async function emptyKeys(db: Db, prefix = 'svc_db_'): Promise<unknown[]> {
  const nothingLive = { scope: { $exists: true }, active: null, pending: null }
  return db.collection(`${prefix}objects`).find(nothingLive).toArray()
}
