import { storeConformance, type TestRunner } from '@svc/db/conformance'
import { afterAll } from 'vitest'
import {
  clientOf,
  describeMongo,
  freshDatabase,
  storesInEmptyCollections,
  type DriverVersion,
} from './databases.js'

export interface MongoConformanceOptions {
  readonly driver: DriverVersion
  /** Registers the groups of the suite that run. */
  readonly test: TestRunner
  readonly numRuns: number
  readonly delays: number
}

/** Registers the suite on the shared server. */
export function mongoConformance({ driver, ...extent }: MongoConformanceOptions): void {
  describeMongo('MongoDB', (url) => {
    const client = clientOf(url, {}, driver)
    const db = freshDatabase(client)
    afterAll(async () => {
      await db.dropDatabase()
      await client.close()
    })

    storeConformance({
      name: `mongoAdapter with driver ${driver}`,
      ...extent,
      ...storesInEmptyCollections(db),
      driver: true,
    })
  })
}
