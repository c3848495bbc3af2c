import { sqliteAdapter } from '@svc/db/sqlite'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { expectEveryEventDelivered } from '../races/event-test.js'
import { PROCESSES, raceTests, type RaceFixture } from '../races/race-tests.js'
import { databaseFolder } from './files.js'

const TWO_SCOPES = `SELECT bucket, key FROM svc_db_objects WHERE status <> 'deleted'
  GROUP BY bucket, key HAVING count(DISTINCT scope) > 1`

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
      callsBetween: CALLS_BETWEEN,
      interruptions: Array.from({ length: KILLS }, () => 'kill a worker' as const),
      inspect: (use) => use({ open: (now) => open({ now }), findViolations }),
    })
    expect(unavailable.join('\n')).toBe('')
  })
})
