import type { StorageObjectStore } from '@svc/db'
import { storeConformance } from '@svc/db/conformance'
import { afterAll, describe, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { isLongRun, runs } from '../../long-runs.js'
import { clientOf, describeMongo, emptyNamespaces, freshDatabase } from './databases.js'

describeMongo('MongoDB', (url) => {
  // Most of the time, driver 6 only runs the tests of what may depend on the driver: client options, lost responses,
  // commands.
  for (const driver of isLongRun ? ([7, 6] as const) : ([7] as const)) {
    const client = clientOf(url, {}, driver)
    const db = freshDatabase(client)
    const namespaces = emptyNamespaces(db)
    const prefixes = new Map<StorageObjectStore, string>()
    afterAll(async () => {
      await db.dropDatabase()
      await client.close()
    })

    storeConformance({
      name: `mongoAdapter with driver ${driver}`,
      // What a script does depends on the server more than on the driver.
      numRuns: driver === 7 ? runs(5, 100) : 5,
      delays: 5,
      test: { describe, it },
      async createStore({ now }) {
        const collectionPrefix = await namespaces.take()
        const store = mongoAdapter(db, { collectionPrefix, now })
        prefixes.set(store, collectionPrefix)
        return store
      },
      close(store) {
        namespaces.giveBack(prefixes.get(store)!)
      },
    })
  }
})
