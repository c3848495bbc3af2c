import { postgresAdapter } from '@svc/db/postgres'
import { afterAll, beforeAll } from 'vitest'
import { objectWriteTests } from '../drivers/object-writes.js'
import { describeOwnDatabase, poolOf } from './schemas.js'

// Expects no deadlock either.
describeOwnDatabase('several clients of Postgres', (url) => {
  const pools = Array.from({ length: 4 }, () => poolOf(url))
  const stores = pools.map((pool) => postgresAdapter(pool))
  beforeAll(() => stores[0]!.migrate())
  afterAll(() => Promise.all(pools.map((pool) => pool.end())))

  objectWriteTests(() => stores)
})
