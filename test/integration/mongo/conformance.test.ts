import type { StorageObjectStore } from '@svc/db'
import { storeConformance } from '@svc/db/conformance'
import { afterAll, describe, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { clientOf, describeMongo, emptyPlaces, freshDatabase } from './places.js'

const RUNS = { 7: 25, 6: 5 } as const

describeMongo('MongoDB', (url) => {
  for (const driver of [7, 6] as const) {
    const client = clientOf(url, {}, driver)
    const db = freshDatabase(client)
    const places = emptyPlaces(db)
    const prefixes = new Map<StorageObjectStore, string>()
    afterAll(async () => {
      await db.dropDatabase()
      await client.close()
    })

    storeConformance({
      name: `mongoAdapter with driver ${driver}`,
      numRuns: RUNS[driver],
      delays: 5,
      test: { describe, it },
      async createStore({ now }) {
        const collectionPrefix = await places.take()
        const store = mongoAdapter(db, { collectionPrefix, now })
        prefixes.set(store, collectionPrefix)
        return store
      },
      close(store) {
        places.giveBack(prefixes.get(store)!)
      },
    })
  }
})
