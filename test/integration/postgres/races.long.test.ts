import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { expectEveryEventDelivered } from '../races/event-test.js'
import { CALLERS, PROCESSES, raceTests } from '../races/race-tests.js'
import { raceProcesses, type RaceProcesses } from '../races/run-race.js'
import { keysOfTwoScopes } from './race-violations.js'
import { describeOwnDatabase, dropSchema, freshSchema, poolOf } from './schemas.js'

/** Successful calls of each process while changes and claims of events race. */
const CALLS = 800

describeOwnDatabase(`races of ${PROCESSES} processes with ${CALLERS} connections each`, (url) => {
  const pool = poolOf(url)
  let processes: RaceProcesses
  let schema: string
  beforeAll(async () => {
    processes = await raceProcesses(fileURLToPath(new URL('./race-process.ts', import.meta.url)))
  })
  beforeEach(async () => {
    schema = freshSchema()
    await postgresAdapter(pool, { schema }).migrate()
  })
  afterEach(() => dropSchema(pool, schema))
  afterAll(async () => {
    processes.remove()
    await pool.end()
  })

  raceTests(() => ({
    processes,
    connection: { url, schema },
    store: postgresAdapter(pool, { schema }),
    findViolations: () => keysOfTwoScopes(pool, schema),
  }))

  it('delivers the events of all changes, in the order of each object', async () => {
    await postgresAdapter(pool, { schema, events: true }).migrate()
    const { unavailable } = await expectEveryEventDelivered({
      entry: fileURLToPath(new URL('./event-process.ts', import.meta.url)),
      connection: { url, schema },
      callsBetween: CALLS,
      interruptions: [],
      inspect: (use) =>
        use({
          open: (now) => postgresAdapter(pool, { schema, now }),
          findViolations: () => keysOfTwoScopes(pool, schema),
        }),
    })
    expect(unavailable).toEqual([])
  })
})
