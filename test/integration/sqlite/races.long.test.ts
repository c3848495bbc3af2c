import { sqliteAdapter } from '@svc/db/sqlite'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { expectEveryEventDelivered } from '../races/event-test.js'
import { PROCESSES, raceTests, type RaceFixture } from '../races/race-tests.js'
import { databaseFolder } from './files.js'

const TWO_SCOPES = `SELECT bucket, key FROM svc_db_objects WHERE status <> 'deleted'
  GROUP BY bucket, key HAVING count(DISTINCT scope) > 1`

/**
 * Each process makes one write at a time, so more callers only wait for each other. A call gives up after 5 seconds, which the calls of 16
 * callers in each process reach on a machine that is busy with other work.
 */
const CALLERS = { callers: 4, callersOfEvents: { writers: 3, claimers: 2 } }

const KILLS = 4
/** Successful calls of each process that changes objects and delivers events, before each kill. */
const CALLS_BETWEEN = 200

describe(`races of ${PROCESSES} processes on one SQLite file`, () => {
  const folder = databaseFolder()
  afterAll(() => folder.drop())
  let path: string
  beforeEach(async () => {
    path = await folder.migratedPath(false)
  })

  function fixture(): RaceFixture {
    const database = folder.handle(path)
    return {
      connection: { kind: 'sqlite', path },
      ...CALLERS,
      open: (options) => sqliteAdapter(database, options),
      findViolations: async () => database.prepare(TWO_SCOPES).all(),
    }
  }
  raceTests(fixture)

  it(`loses no event if processes are killed with claims (${KILLS} kills)`, async () => {
    const { connection, open, findViolations } = fixture()
    await open({ events: true }).migrate()
    const { unavailable } = await expectEveryEventDelivered({
      connection,
      callers: CALLERS.callersOfEvents,
      callsBetween: CALLS_BETWEEN,
      interruptions: Array.from({ length: KILLS }, () => 'kill a worker' as const),
      inspect: (use) => use({ open: (now) => open({ now }), findViolations }),
    })
    expect(unavailable.join('\n')).toBe('')
  })
})
