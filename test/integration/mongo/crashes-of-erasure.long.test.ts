import { afterAll, beforeAll, expect } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { describeErasureCrashes } from '../../unit/server/describe-erasure-crashes.js'
import { expectZeros, rowsOfErased, type RawRow } from '../../unit/server/raw-remainder.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

describeMongo('a server with mongoAdapter', (url) => {
  const client = clientOf(url)
  const db = freshDatabase(client)
  beforeAll(() => mongoAdapter(db, { collectionPrefix: '', events: true }).migrate())
  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
  })

  describeErasureCrashes({
    async createStore(now) {
      const collections = (await db.collections()).filter(
        (collection) => collection.collectionName !== 'schema',
      )
      await Promise.all(
        collections.map((collection) => collection.deleteMany({}, { writeConcern: { w: 'majority' } })),
      )
      return mongoAdapter(db, { collectionPrefix: '', now })
    },
    async inspect() {
      const database: Record<string, RawRow[]> = {}
      for (const collection of await db.collections()) {
        database[collection.collectionName] = await collection.find().toArray()
      }
      // `expectErased` has checked each leftover. `objects` holds the sums of each scope as well.
      const { objects, leftovers, events, ...rest } = rowsOfErased(database)
      expect(rest).toEqual({})
      for (const sums of objects ?? []) expectZeros(sums)
      expect(leftovers?.length).toBeGreaterThan(0)
      expect(events?.length).toBeGreaterThan(0)
    },
    step: 3,
  })
})
