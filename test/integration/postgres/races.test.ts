import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { expectEveryEventDelivered } from '../races/event-test.js'
import { CALLERS, PROCESSES, raceTests } from '../races/race-tests.js'
import { runs } from '../../long-runs.js'
import { raceProcesses, type RaceProcesses } from '../races/run-race.js'
import { keysOfTwoScopes, numberOfDeadlocks } from './race-violations.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from './schemas.js'

/** Successful calls of each process while changes and claims of events race. */
const CALLS = runs(300, 800)

describePostgres(`races of ${PROCESSES} processes with ${CALLERS} connections each`, (serverUrl) => {
  // Its own database, because Postgres counts deadlocks per database and other tests cause some.
  const name = `race_${randomBytes(6).toString('hex')}`
  const url = new URL(`/${name}`, serverUrl).href
  const server = poolOf(serverUrl, { max: 1 })
  const pool = poolOf(url)
  let processes: RaceProcesses
  let schema: string
  beforeAll(async () => {
    await server.query(`CREATE DATABASE ${name}`)
    processes = await raceProcesses(fileURLToPath(new URL('./race-process.ts', import.meta.url)))
  })
  beforeEach(async () => {
    schema = freshSchema()
    await postgresAdapter(pool, { schema }).migrate()
  })
  afterEach(async () => {
    await dropSchema(pool, schema)
    expect(await numberOfDeadlocks(pool)).toBe(0)
  })
  afterAll(async () => {
    processes.remove()
    await pool.end()
    await server.query(`DROP DATABASE ${name}`)
    await server.end()
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
