import type { StorageObjectStore } from '@svc/db'
import { storeConformance } from '@svc/db/conformance'
import { afterAll, describe, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describePostgres, emptyPlaces, poolOf } from './setup.js'

describePostgres('Postgres', (url) => {
  const pool = poolOf(url)
  const places = emptyPlaces(pool)
  const schemas = new Map<StorageObjectStore, string>()
  afterAll(async () => {
    await places.drop()
    await pool.end()
  })

  storeConformance({
    name: 'postgresAdapter on a server',
    numRuns: 40,
    delays: 5,
    test: { describe, it },
    async createStore({ now }) {
      const schema = await places.take()
      const store = postgresAdapter(pool, { schema, now })
      schemas.set(store, schema)
      return store
    },
    close(store) {
      places.giveBack(schemas.get(store)!)
    },
  })
})
