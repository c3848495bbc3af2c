import { afterAll } from 'vitest'
import { itChecksUploads } from '../races/server-properties.js'
import { describePostgres, poolOf, storesInEmptySchemas } from './schemas.js'

describePostgres('checked uploads with postgresAdapter', (url) => {
  const pool = poolOf(url)
  const { drop, ...stores } = storesInEmptySchemas(pool)
  afterAll(async () => {
    await drop()
    await pool.end()
  })

  itChecksUploads(stores, 200)
})
