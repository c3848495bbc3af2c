import { afterAll } from 'vitest'
import { itKeepsTemporaryObjects } from '../races/server-properties.js'
import { describePostgres, poolOf, storesInEmptySchemas } from './schemas.js'

describePostgres('processes with postgresAdapter', (url) => {
  const pool = poolOf(url)
  const { drop, ...stores } = storesInEmptySchemas(pool)
  afterAll(async () => {
    await drop()
    await pool.end()
  })

  itKeepsTemporaryObjects(stores, 60)
})
