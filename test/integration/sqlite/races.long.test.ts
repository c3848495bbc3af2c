import { sqliteAdapter } from '@svc/db/sqlite'
import { afterAll, beforeEach, describe } from 'vitest'
import { PROCESSES, raceTests } from '../races/race-tests.js'
import { databaseFolder } from './files.js'

const TWO_SCOPES = `SELECT bucket, key FROM svc_db_objects WHERE status <> 'deleted'
  GROUP BY bucket, key HAVING count(DISTINCT scope) > 1`

describe(`races of ${PROCESSES} processes on one SQLite file`, () => {
  const folder = databaseFolder()
  afterAll(() => folder.drop())
  let path: string
  beforeEach(async () => {
    path = await folder.migratedPath(false)
  })

  raceTests(() => {
    const database = folder.handle(path)
    return {
      connection: { kind: 'sqlite', path },
      open: (options) => sqliteAdapter(database, options),
      findViolations: async () => database.prepare(TWO_SCOPES).all(),
    }
  })
})
