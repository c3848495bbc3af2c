import { storeConformance } from '@svc/db/conformance'
import { afterAll, describe, it } from 'vitest'
import {
  clientOf,
  describeMongo,
  freshDatabase,
  storesInEmptyCollections,
  type DriverVersion,
} from './databases.js'

export interface MongoConformanceOptions {
  readonly driver: DriverVersion
  readonly numRuns: number
  readonly delays: number
}

/** Registers the suite on the shared server. */
export function mongoConformance({ driver, numRuns, delays }: MongoConformanceOptions): void {
  describeMongo('MongoDB', (url) => {
    const client = clientOf(url, {}, driver)
    const db = freshDatabase(client)
    afterAll(async () => {
      await db.dropDatabase()
      await client.close()
    })

    storeConformance({
      name: `mongoAdapter with driver ${driver}`,
      numRuns,
      delays,
      test: { describe, it },
      ...storesInEmptyCollections(db),
      driver: true,
    })
  })
}
