import { storeConformance } from '@svc/db/conformance'
import postgres from 'postgres'
import { afterAll } from 'vitest'
import { groupsOnce, isLongLists } from '../../conformance-groups.js'
import { runs } from '../../long-runs.js'
import { describePostgres, poolOf, storesInEmptySchemas } from './schemas.js'

describePostgres('Postgres through postgres.js', (url) => {
  const pool = poolOf(url)
  const sql = postgres(url, { max: 8 })
  const stores = storesInEmptySchemas(pool, sql)
  afterAll(async () => {
    await stores.drop()
    await Promise.all([pool.end(), sql.end()])
  })

  storeConformance({
    name: 'postgresAdapter over postgres.js',
    numRuns: runs(2, 4),
    delays: 5,
    // The statements are those of a server, where `npm test` tests long lists.
    test: groupsOnce(isLongLists),
    ...stores,
    driver: true,
  })
})
