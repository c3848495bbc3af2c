import { namesOf } from '../../core/known-names.js'
import { OptionChecks } from '../../core/option-checks.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { createStore } from '../../core/store/create-store.js'
import { shown, shownHandle } from '../../core/store/validation/checks.js'
import type { SqliteDatabase } from './connection/database.js'
import { createSqliteDriver } from './driver.js'

export type { SqliteDatabase, SqliteStatement, SqliteValue } from './connection/database.js'

export interface SqliteAdapterOptions {
  /**
   * Whether changes of active objects are recorded as events, by every process that uses the tables. `migrate()` stores it in
   * the database. Default: as it is there, at first off.
   */
  readonly events?: boolean | null | undefined
  /** Returns the current time. Default: the system clock. */
  readonly now?: (() => Date) | null | undefined
  /** How the names of the library's tables and indexes begin: 1 to 40 letters, digits and underscores. Default `svc_db_`. */
  readonly tablePrefix?: string | null | undefined
  /**
   * Whether a write takes part in a transaction that is open on the handle, at once. For a handle that one piece of work has for
   * itself. Default `false`: a write waits until the transaction has ended.
   */
  readonly join?: boolean | null | undefined
}

const OPTIONS = namesOf<SqliteAdapterOptions>({ events: true, now: true, tablePrefix: true, join: true })
const checks = new OptionChecks('sqliteAdapter')

/**
 * Creates a store in an SQLite database: a `DatabaseSync` of `node:sqlite` (Node 22.13 or later) or a `Database` of `better-sqlite3` (11
 * or later), in a file or in memory. Call `migrate()` once before any other method. Several processes of one machine may share the file.
 * You open and close the handle yourself.
 *
 * A call that finds the file locked waits for up to 5 seconds without blocking the process, then rejects with `DATABASE_UNAVAILABLE`.
 *
 * @throws TypeError for an invalid handle or option.
 *
 * @example
 * import { DatabaseSync } from 'node:sqlite'
 * import { sqliteAdapter } from '@svc/db/sqlite'
 *
 * const store = sqliteAdapter(new DatabaseSync('data.db'))
 * await store.migrate()
 */
export function sqliteAdapter(
  database: SqliteDatabase,
  options?: SqliteAdapterOptions | null,
): StorageObjectStore {
  const given = checks.optionalOptions(options, OPTIONS)
  const driver = createSqliteDriver({
    database: handleOf(database),
    prefix: prefixOf(given.tablePrefix ?? 'svc_db_'),
    events: checks.boolean('events', given.events),
    join: checks.boolean('join', given.join) ?? false,
  })
  return createStore(driver, { now: checks.function('now', given.now) })
}

function handleOf(database: unknown): SqliteDatabase {
  const given = Object(database) as Readonly<Record<string, unknown>>
  // libSQL and the drivers of React Native have the same names for calls that return promises.
  const isHandle = typeof given['prepare'] === 'function' && typeof given['exec'] === 'function'
  if (isHandle && typeof given['execAsync'] !== 'function') return database as SqliteDatabase
  throw checks.error(
    `database must be a DatabaseSync of node:sqlite or a Database of better-sqlite3 (got ${shownHandle(database)}).`,
  )
}

/** A name that needs no quotes. SQLite keeps names that begin with `sqlite_` for itself. */
function prefixOf(prefix: unknown): string {
  if (typeof prefix === 'string' && /^(?!sqlite_)[a-z_][a-z0-9_]{0,39}$/i.test(prefix)) return prefix
  throw checks.error(
    `tablePrefix must be 1 to 40 letters, digits and underscores, and begin with neither a digit nor sqlite_ (got ${shown(prefix)}).`,
  )
}
