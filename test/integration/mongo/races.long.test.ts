import { mongoAdapter } from '@svc/db/mongo'
import type { Db } from 'mongodb'
import { afterAll, afterEach, beforeEach } from 'vitest'
import { CALLERS, PROCESSES, raceTests } from '../races/race-tests.js'
import { clientOf, describeMongo, emptyKeys, freshDatabase } from './databases.js'

describeMongo(`races of ${PROCESSES} processes with ${CALLERS} connections each`, (url) => {
  const client = clientOf(url)
  let db: Db
  beforeEach(async () => {
    db = freshDatabase(client)
    await mongoAdapter(db).migrate()
  })
  afterEach(() => db.dropDatabase())
  afterAll(() => client.close())

  raceTests(() => ({
    connection: { kind: 'mongo', url, database: db.databaseName },
    open: (options) => mongoAdapter(db, options),
    findViolations: () => emptyKeys(db),
  }))
})
