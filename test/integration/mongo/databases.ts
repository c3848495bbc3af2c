import { randomBytes } from 'node:crypto'
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

const COLLECTIONS = ['objects', 'history', 'leftovers']

/**
 * Provides migrated, empty collections for a suite that needs hundreds of them: returned ones are emptied and reused.
 */
export function emptyNamespaces(db: Db): {
  /** Returns the prefix of the collections. */
  take(): Promise<string>
  giveBack(prefix: string): void
} {
  let created = 0
  const free: string[] = []
  return {
    async take() {
      const used = free.pop()
      if (used !== undefined) {
        for (const name of COLLECTIONS) {
          await db.collection(used + name).deleteMany({}, { writeConcern: { w: 'majority' } })
        }
        return used
      }
      const prefix = `namespace ${++created}.`
      await mongoAdapter(db, { collectionPrefix: prefix }).migrate()
      return prefix
    },
    giveBack(prefix) {
      free.push(prefix)
    },
  }
}

/** Returns the documents of keys without live rows. There must be none. */
export async function emptyKeys(db: Db): Promise<unknown[]> {
  const nothingLive = { scope: { $exists: true }, active: null, pending: null }
  return db.collection('svc_db_objects').find(nothingLive).toArray()
}
