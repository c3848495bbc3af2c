import { randomBytes } from 'node:crypto'
import { MongoClient, type Db, type MongoClientOptions } from 'mongodb'
import { MongoClient as MongoClient6 } from 'mongodb6'
import { afterAll } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { emptyStores } from '../drivers/empty-stores.js'
import { describeWithServer } from '../../servers/describe-with-server.js'

/** Registers tests on the shared server, or a visible skip if there is none. */
export function describeMongo(title: string, body: (url: string) => void): void {
  describeWithServer('mongodb', title, body)
}

/**
 * The newest supported driver, and the oldest: 6.0.0. Their types don't differ in anything that the adapter uses. mongoose
 * 8 has the latest of version 6.
 */
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

export function storesInEmptyCollections(db: Db) {
  let created = 0
  return emptyStores({
    newName: () => `namespace ${++created}.`,
    open: (collectionPrefix, context) => mongoAdapter(db, { collectionPrefix, ...context }),
    empty: (prefix) =>
      // At once, because each waits until a majority of the members has its writes.
      Promise.all(
        ['objects', 'history', 'leftovers', 'events'].map((name) =>
          db.collection(prefix + name).deleteMany({}, { writeConcern: { w: 'majority' } }),
        ),
      ),
    spoil: (prefix, scope) =>
      db
        .collection<{ _id: string }>(`${prefix}objects`)
        .updateOne({ _id: scope }, { $inc: { bytes: 1, files: 1 } }),
  })
}

/** Describes tests with stores in a database of their own, or a visible skip. */
export function describeMongoStores(
  title: string,
  body: (stores: ReturnType<typeof storesInEmptyCollections>) => void,
): void {
  describeMongo(title, (url) => {
    const client = clientOf(url)
    const db = freshDatabase(client)
    afterAll(async () => {
      await db.dropDatabase()
      await client.close()
    })
    body(storesInEmptyCollections(db))
  })
}

/** Returns the documents of keys without live rows. There must be none. */
export async function emptyKeys(db: Db, prefix = 'svc_db_'): Promise<unknown[]> {
  const nothingLive = { scope: { $exists: true }, active: null, pending: null, rejectedAt: null }
  return db.collection(`${prefix}objects`).find(nothingLive).toArray()
}
