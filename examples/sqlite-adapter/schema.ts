import { setTimeout as pause } from 'node:timers/promises'
import { StorageError } from '@svc/db/adapter'
import { Connection, unavailable } from './connection.ts'

const VERSION = 1

/**
 * Text compares byte by byte: SQLite stores UTF-8, and its collation is BINARY. Columns have the names of the fields. `name`
 * is what a live row or a leftover calls its bytes. Rows of `objects` are inserted and deleted, but never changed.
 */
const TABLES = `
  CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE objects (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, attemptId TEXT NOT NULL, scope TEXT NOT NULL,
    bucket TEXT NOT NULL, key TEXT NOT NULL, status TEXT NOT NULL, route TEXT, filename TEXT, contentType TEXT,
    size INTEGER, declaredSize INTEGER, eTag TEXT, storageKey TEXT, uploadId TEXT, expiresAt INTEGER,
    createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, confirmedAt INTEGER, deletedAt INTEGER,
    writableUntil INTEGER NOT NULL, metadata TEXT,
    name TEXT AS (CASE WHEN status <> 'deleted' THEN coalesce(storageKey, key) END)
  ) STRICT;
  CREATE INDEX objects_key ON objects (bucket, key, status, id);
  CREATE INDEX objects_id ON objects (id, status = 'deleted');
  CREATE INDEX objects_scope ON objects (scope, status, id);
  CREATE INDEX objects_route ON objects (scope, route, status, id);
  CREATE INDEX objects_name ON objects (bucket, name, status, key) WHERE name IS NOT NULL;
  CREATE INDEX objects_expiresAt ON objects (expiresAt, id) WHERE expiresAt IS NOT NULL;
  CREATE INDEX objects_expiresAt_of_scope ON objects (scope, expiresAt, id) WHERE expiresAt IS NOT NULL;
  CREATE INDEX objects_deletedAt ON objects (deletedAt, id) WHERE deletedAt IS NOT NULL;
  CREATE INDEX objects_deletedAt_of_scope ON objects (scope, deletedAt, id) WHERE deletedAt IS NOT NULL;
  CREATE TABLE scopes (
    scope TEXT PRIMARY KEY, bytes INTEGER NOT NULL, files INTEGER NOT NULL, reservedBytes INTEGER NOT NULL,
    reservedFiles INTEGER NOT NULL, pending INTEGER NOT NULL, deleted INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE leftovers (
    attemptId TEXT PRIMARY KEY, scope TEXT, bucket TEXT NOT NULL, key TEXT NOT NULL, storageKey TEXT, uploadId TEXT,
    since INTEGER NOT NULL, writableUntil INTEGER NOT NULL, dueAt INTEGER NOT NULL,
    name TEXT NOT NULL AS (coalesce(storageKey, key))
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX leftovers_since ON leftovers (since, attemptId);
  CREATE INDEX leftovers_since_of_scope ON leftovers (scope, since, attemptId);
  CREATE INDEX leftovers_dueAt ON leftovers (dueAt, attemptId);
  CREATE INDEX leftovers_dueAt_of_scope ON leftovers (scope, dueAt, attemptId);
  CREATE INDEX leftovers_name ON leftovers (bucket, name);
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, bucket TEXT NOT NULL, key TEXT NOT NULL, type TEXT NOT NULL,
    object TEXT NOT NULL, previous TEXT, createdAt INTEGER NOT NULL, dueAt INTEGER NOT NULL,
    isOldest INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, claim TEXT, claimedUntil INTEGER
  ) STRICT;
  CREATE INDEX events_key ON events (bucket, key, isOldest, seq);
  CREATE INDEX events_dueAt ON events (attempts > 0, dueAt, seq) WHERE isOldest = 1;
`

/** Creates what is missing, and stores whether events are on (`null`: as it is). */
export async function migrate(connection: Connection, events: boolean | null, busyTimeout: number) {
  await useWriteAheadLog(connection, Date.now() + busyTimeout)
  return connection.write(() => {
    const { from } = connection.get<{ from: number }>(
      'SELECT user_version AS "from" FROM pragma_user_version',
    )!
    if (from > VERSION) throw unavailable(`The tables have version ${from}, which is newer than ${VERSION}.`)
    connection.exec(TABLES.replace(/CREATE (?:TABLE|INDEX)/g, '$& IF NOT EXISTS'))
    connection.exec(`INSERT OR IGNORE INTO settings VALUES ('events', 0); PRAGMA user_version = ${VERSION}`)
    if (events !== null) connection.run('UPDATE settings SET value = :value', { value: Number(events) })
    return { from, to: VERSION }
  })
}

/** Lets readers and a writer work at the same time. SQLite doesn't apply the busy timeout to this change of the file. */
async function useWriteAheadLog(connection: Connection, deadline: number): Promise<void> {
  for (;;) {
    try {
      return connection.exec('PRAGMA journal_mode = WAL')
    } catch (error) {
      if (!(error instanceof StorageError && error.retryable) || Date.now() > deadline) throw error
      await pause(20)
    }
  }
}

/** Compares the tables and indexes with those of a new database. */
export function verify(connection: Connection): string[] {
  const schema = 'SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name'
  const empty = new Connection(':memory:', 0)
  empty.exec(TABLES)
  const expected = empty.all<{ type: string; name: string; sql: string }>(schema)
  empty.close()
  const found = new Map(connection.all<(typeof expected)[0]>(schema).map(({ name, sql }) => [name, sql]))
  return expected
    .filter(({ name, sql }) => found.get(name) !== sql)
    .map(
      ({ type, name }) =>
        `The ${type} ${name} ${found.has(name) ? 'differs' : 'is missing: call migrate()'}.`,
    )
}

/** Returns whether events are on. */
export function recordsEvents(connection: Connection): boolean {
  return connection.get<{ value: number }>(`SELECT value FROM settings WHERE name = 'events'`)?.value === 1
}
