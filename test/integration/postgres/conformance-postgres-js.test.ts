import type { StorageObjectStore } from '@svc/db'
import { storeConformance } from '@svc/db/conformance'
import postgres from 'postgres'
import { afterAll, describe, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { runs } from '../../long-runs.js'
import { describePostgres, emptySchemas, poolOf } from './schemas.js'

describePostgres('Postgres through postgres.js', (url) => {
  const pool = poolOf(url)
  const schemas = emptySchemas(pool)
  const sql = postgres(url, { max: 8 })
  const schemaOf = new Map<StorageObjectStore, string>()
  afterAll(async () => {
    await schemas.drop()
    await Promise.all([pool.end(), sql.end()])
  })

  storeConformance({
    name: 'postgresAdapter over postgres.js',
    numRuns: runs(3, 20),
    delays: 5,
    test: { describe, it },
    async createStore({ now }) {
      const schema = await schemas.take()
      const store = postgresAdapter(sql, { schema, now })
      schemaOf.set(store, schema)
      return store
    },
    close(store) {
      schemas.giveBack(schemaOf.get(store)!)
    },
  })
})
