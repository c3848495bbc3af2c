import type { StorageObjectStore } from '@svc/db'
import { storeConformance } from '@svc/db/conformance'
import { afterAll, describe, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { runs } from '../../long-runs.js'
import { describePostgres, poolOf, emptySchemas } from './schemas.js'

describePostgres('Postgres', (url) => {
  const pool = poolOf(url)
  const schemas = emptySchemas(pool)
  const schemaOf = new Map<StorageObjectStore, string>()
  afterAll(async () => {
    await schemas.drop()
    await pool.end()
  })

  storeConformance({
    name: 'postgresAdapter on a server',
    numRuns: runs(15, 100),
    delays: 5,
    test: { describe, it },
    async createStore({ now }) {
      const schema = await schemas.take()
      const store = postgresAdapter(pool, { schema, now })
      schemaOf.set(store, schema)
      return store
    },
    close(store) {
      schemas.giveBack(schemaOf.get(store)!)
    },
  })
})
