import { storeConformance } from '@svc/db/conformance'
import { afterAll } from 'vitest'
import { groupsOnce } from '../../conformance-groups.js'
import { runs } from '../../long-runs.js'
import { describePostgres, poolOf, storesInEmptySchemas } from './schemas.js'

describePostgres('Postgres', (url) => {
  const pool = poolOf(url)
  const stores = storesInEmptySchemas(pool)
  afterAll(async () => {
    await stores.drop()
    await pool.end()
  })

  storeConformance({
    name: 'postgresAdapter on a server',
    numRuns: runs(8, 20),
    delays: 5,
    test: groupsOnce(),
    ...stores,
    driver: true,
  })
})
