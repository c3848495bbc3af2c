import { storeConformance } from '@svc/db/conformance'
import { afterAll, describe, it } from 'vitest'
import { groupsOnce } from '../../conformance-groups.js'
import { isLongRun, runs } from '../../long-runs.js'
import { clientOf, describeMongo, freshDatabase, storesInEmptyCollections } from './databases.js'

describeMongo('MongoDB', (url) => {
  // Most of the time, driver 6 only runs the tests of what may depend on the driver: client options, lost responses,
  // commands.
  for (const driver of isLongRun ? ([7, 6] as const) : ([7] as const)) {
    const client = clientOf(url, {}, driver)
    const db = freshDatabase(client)
    afterAll(async () => {
      await db.dropDatabase()
      await client.close()
    })

    storeConformance({
      name: `mongoAdapter with driver ${driver}`,
      // What a script does depends on the server more than on the driver.
      numRuns: driver === 7 ? runs(2, 6) : 2,
      delays: runs(2, 3),
      // Only long runs use driver 6, so they run all of its cases.
      test: driver === 7 ? groupsOnce() : { describe, it },
      ...storesInEmptyCollections(db),
      driver: true,
    })
  }
})
