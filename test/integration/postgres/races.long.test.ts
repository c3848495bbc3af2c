import { afterAll, afterEach, beforeEach } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { CALLERS, PROCESSES, raceTests } from '../races/race-tests.js'
import { keysOfTwoScopes } from './race-violations.js'
import { describeOwnDatabase, dropSchema, freshSchema, poolOf } from './schemas.js'

describeOwnDatabase(`races of ${PROCESSES} processes with ${CALLERS} connections each`, (url) => {
  const pool = poolOf(url)
  let schema: string
  beforeEach(async () => {
    schema = freshSchema()
    await postgresAdapter(pool, { schema }).migrate()
  })
  afterEach(() => dropSchema(pool, schema))
  afterAll(() => pool.end())

  raceTests(() => ({
    connection: { kind: 'postgres', url, schema },
    open: (options) => postgresAdapter(pool, { schema, ...options }),
    findViolations: () => keysOfTwoScopes(pool, schema),
  }))
})
