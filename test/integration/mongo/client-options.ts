import type { MongoClientOptions } from 'mongodb'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { expectWholeLife } from '../drivers/whole-life.js'
import { clientOf, describeMongo, freshDatabase, type DriverVersion } from './databases.js'

/** Client options that conflict with the adapter's own and can be combined. To find the one that breaks, use each alone. */
const COMBINABLE: Readonly<Record<string, MongoClientOptions>> = {
  promoteLongs: { promoteLongs: false },
  promoteValues: { promoteValues: false },
  promoteBuffers: { promoteBuffers: true },
  ignoreUndefined: { ignoreUndefined: true },
  serializeFunctions: { serializeFunctions: true },
  bsonRegExp: { bsonRegExp: true },
  enableUtf8Validation: { enableUtf8Validation: false },
  retryWrites: { retryWrites: false, retryReads: false },
  writeConcern: { writeConcern: { w: 0 } },
  linearizable: { readConcern: { level: 'linearizable' } },
  secondaryPreferred: { readPreference: 'secondaryPreferred' },
  onePooledConnection: { maxPoolSize: 1 },
}

const OPTIONS: Readonly<Record<string, MongoClientOptions>> = {
  none: {},
  all: Object.assign({}, ...Object.values(COMBINABLE)) as MongoClientOptions,
  useBigInt64: { useBigInt64: true },
  journal: { writeConcern: { w: 1, journal: false } },
  available: { readConcern: { level: 'available' } },
  timeoutMS: { timeoutMS: 5000 },
  serverApi: { serverApi: { version: '1', strict: true, deprecationErrors: true } },
}

/** Registers tests of the options of the application's client. */
export function clientOptionTests(driver: DriverVersion): void {
  describeMongo(`the adapter with driver ${driver} ignores client options:`, (url) => {
    const plain = clientOf(url, {}, driver)
    afterAll(() => plain.close())

    // Driver 6.0.0 refuses an option that came later.
    const names = Object.keys(OPTIONS).filter((name) => driver !== 6 || name !== 'timeoutMS')
    it.each(names)('%s', async (name) => {
      const client = clientOf(url, OPTIONS[name], driver)
      const database = freshDatabase(plain)
      try {
        const databases = [client.db(database.databaseName)]
        databases.push(client.db(database.databaseName, OPTIONS[name] as object))
        for (const [i, db] of databases.entries()) {
          const collectionPrefix = `${i}.`
          const reader = mongoAdapter(database, { collectionPrefix })
          await expectWholeLife((now) => mongoAdapter(db, { collectionPrefix, now }), reader, '$scope')
        }
        await expectLongs(database.databaseName)
      } finally {
        await client.close()
        await database.dropDatabase()
      }
    })

    /** Expects that the database holds sizes as 64-bit integers, whatever their value. */
    async function expectLongs(name: string): Promise<void> {
      const client = clientOf(url, { promoteLongs: false }, driver)
      onTestFinished(() => client.close())
      const objects = client.db(name).collection<{ _id: string }>('0.objects')
      const fields = ['bytes', 'files', 'reservedBytes', 'reservedFiles', 'pendingRows', 'deletedRows']
      const types = { $project: Object.fromEntries(fields.map((field) => [field, { $type: `$${field}` }])) }
      const [sums] = await objects.aggregate([{ $match: { _id: '$scope' } }, types]).toArray()
      for (const field of fields) expect(sums![field]).toBe('long')
      const sizes = { $project: { _id: 0, type: { $type: '$active.size' } } }
      const rows = await objects.aggregate([{ $match: { active: { $exists: true } } }, sizes]).toArray()
      expect(new Set(rows.map(({ type }) => type as string))).toEqual(new Set(['long']))
    }

    it('a size that JavaScript would round is a RangeError', async () => {
      const client = clientOf(url, {}, driver)
      const db = freshDatabase(client)
      onTestFinished(async () => {
        await db.dropDatabase()
        await client.close()
      })
      const store = mongoAdapter(db)
      await store.migrate()
      const rounded = { _id: 'too large', bytes: 9007199254740993n }
      await db.collection<{ _id: string; bytes: bigint }>('svc_db_objects').insertOne(rounded)
      await expect(store.getScopeUsage('too large')).rejects.toThrow(RangeError)
    })
  })
}
