import { storeConformance } from '@svc/db/conformance'
import postgres from 'postgres'
import { afterAll, describe, it } from 'vitest'
import { isLongRun, runs } from '../../long-runs.js'
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
    // The statements are those of a server, where long lists are tested each time.
    test: {
      describe: (title, body) => describe.skipIf(!isLongRun && title.startsWith('long lists'))(title, body),
      it,
    },
    ...stores,
    driver: true,
  })
})
