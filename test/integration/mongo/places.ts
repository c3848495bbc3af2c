import { randomBytes } from 'node:crypto'
import { MongoClient, type Db, type MongoClientOptions } from 'mongodb'
import { MongoClient as MongoClient6 } from 'mongodb6'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { describeWithServer } from '../../servers/describe-with-server.js'

/** The server of the tests, or a visible skip where there is none. */
export function describeMongo(title: string, body: (url: string) => void): void {
  describeWithServer('mongodb', title, body)
}

/** The drivers that the adapter works with; their types differ in nothing that it uses. */
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

/** A database that no other test uses. */
export function freshDatabase(client: MongoClient): Db {
  return client.db(`test_${randomBytes(6).toString('hex')}`)
}

const COLLECTIONS = ['objects', 'history', 'leftovers']

/** Stores over empty places for a suite that wants hundreds: a place that was given back is emptied and used again. */
export function emptyPlaces(db: Db): {
  take(): Promise<string>
  giveBack(prefix: string): void
} {
  let made = 0
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
      const prefix = `place ${++made}.`
      await mongoAdapter(db, { collectionPrefix: prefix }).migrate()
      return prefix
    },
    giveBack(prefix) {
      free.push(prefix)
    },
  }
}

/** Documents of keys at which nothing is live: none of them may stay. */
export async function emptyKeys(db: Db): Promise<unknown[]> {
  const nothingLive = { scope: { $exists: true }, active: null, pending: null }
  return db.collection('svc_db_objects').find(nothingLive).toArray()
}
