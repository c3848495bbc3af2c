import { runRaceWorker } from '@svc/db/conformance'
import { sqliteAdapter } from '@svc/db/sqlite'
import Database from 'better-sqlite3'

runRaceWorker((path) => sqliteAdapter(new Database(path)))
