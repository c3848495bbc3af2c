import { postgresAdapter } from '@svc/db/postgres'
import { CALLERS, PROCESSES, raceTests } from '../races/race-tests.js'
import { keysOfTwoScopes } from './race-violations.js'
import { describeOwnDatabase, poolOf, schemaOfEachTest } from './schemas.js'

describeOwnDatabase(`races of ${PROCESSES} processes with ${CALLERS} connections each`, (url) => {
  const pool = poolOf(url)
  let schema: string
  schemaOfEachTest(pool, async (name) => {
    schema = name
    await postgresAdapter(pool, { schema }).migrate()
  })

  raceTests(() => ({
    connection: { kind: 'postgres', url, schema },
    open: (options) => postgresAdapter(pool, { schema, ...options }),
    findViolations: () => keysOfTwoScopes(pool, schema),
  }))
})
