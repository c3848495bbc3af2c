import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { expectEveryEventDelivered } from '../races/event-test.js'
import { CALLERS, PROCESSES, raceTests } from '../races/race-tests.js'
import { raceProcesses, type RaceProcesses } from '../races/run-race.js'
import { clientOf, describeMongo, emptyKeys, freshDatabase } from './databases.js'

/** Successful calls of each process while changes and claims of events race. */
const CALLS = 400

describeMongo(`races of ${PROCESSES} processes with ${CALLERS} connections each`, (url) => {
  const client = clientOf(url)
  let processes: RaceProcesses
  let db: Db
  beforeAll(async () => {
    processes = await raceProcesses(fileURLToPath(new URL('./race-process.ts', import.meta.url)))
  })
  beforeEach(async () => {
    db = freshDatabase(client)
    await mongoAdapter(db).migrate()
  })
  afterEach(async () => {
    await db.dropDatabase()
  })
  afterAll(async () => {
    processes.remove()
    await client.close()
  })

  raceTests(() => ({
    processes,
    connection: { url, database: db.databaseName },
    store: mongoAdapter(db),
    findViolations: () => emptyKeys(db),
  }))

  it('delivers the events of all changes, in the order of each object', async () => {
    await mongoAdapter(db, { events: true }).migrate()
    const { unavailable } = await expectEveryEventDelivered({
      entry: fileURLToPath(new URL('./event-process.ts', import.meta.url)),
      connection: { url, database: db.databaseName },
      callsBetween: CALLS,
      interruptions: [],
      inspect: (use) =>
        use({ open: (now) => mongoAdapter(db, { now }), findViolations: () => emptyKeys(db) }),
    })
    expect(unavailable).toEqual([])
  })
})
