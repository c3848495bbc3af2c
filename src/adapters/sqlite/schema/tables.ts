/** The version of the tables that `migrate()` creates. */
export const VERSION = 1

/** The lowest version of the code that can use tables of {@link VERSION}. */
export const MIN_COMPATIBLE_VERSION = 1

export interface Table {
  readonly name: string
  /** The definition of each column. Text sorts byte by byte: SQLite stores UTF-8, and its collation is BINARY. */
  readonly columns: Readonly<Record<string, string>>
  /** What follows the columns, such as a primary key of several. */
  readonly options: string
  readonly indexes: readonly Index[]
}

export interface Index {
  readonly name: string
  /** The columns, and the condition of a partial index. */
  readonly definition: string
}

const DATE = 'INTEGER'

/** The version of the tables, and whether changes are recorded as events, in the only row. */
const SCHEMA_VERSION: Table = {
  name: 'schema_version',
  columns: {
    only_row: 'INTEGER PRIMARY KEY CHECK (only_row = 1)',
    version: 'INTEGER NOT NULL',
    // The lowest version of the code that can use the tables.
    min_compatible: 'INTEGER NOT NULL',
    records_events: 'INTEGER NOT NULL',
  },
  options: 'STRICT',
  indexes: [],
}

/** Returns the two indexes of a list by a date: of all scopes, and of one. */
function datedIndexes(table: string, name: string, columns: string, condition?: string): Index[] {
  const where = condition === undefined ? '' : ` WHERE ${condition}`
  return [
    { name: `${table}_${name}`, definition: `(${columns})${where}` },
    { name: `${table}_scope_${name}`, definition: `(scope, ${columns})${where}` },
  ]
}

/** Returns those of rows that have a date. `name` is that of the list. */
function indexesOfObjects(name: string, date: string, condition = `${date} IS NOT NULL`): Index[] {
  return datedIndexes('objects', name, `${date}, id`, condition)
}

// Confirming an upload changes the status of its row. An index on the date of its removal, which stays, has nothing to do then.
const LIVE = 'deleted_at IS NULL'
const HISTORY = 'deleted_at IS NOT NULL'

/** Objects: pending (an upload in progress), active or deleted (history). Dates are milliseconds since 1970. */
export const OBJECTS: Table = {
  name: 'objects',
  columns: {
    seq: 'INTEGER PRIMARY KEY',
    id: 'TEXT NOT NULL',
    attempt_id: 'TEXT NOT NULL',
    scope: 'TEXT NOT NULL',
    bucket: 'TEXT NOT NULL',
    key: 'TEXT NOT NULL',
    status: "TEXT NOT NULL CHECK (status IN ('pending', 'active', 'deleted'))",
    route: 'TEXT',
    filename: 'TEXT',
    content_type: 'TEXT',
    size: 'INTEGER',
    declared_size: 'INTEGER',
    e_tag: 'TEXT',
    // A JSON object.
    metadata: 'TEXT',
    storage_key: 'TEXT',
    upload_id: 'TEXT',
    expires_at: DATE,
    created_at: `${DATE} NOT NULL`,
    updated_at: `${DATE} NOT NULL`,
    confirmed_at: DATE,
    deleted_at: `${DATE} CHECK ((deleted_at IS NOT NULL) = (status = 'deleted'))`,
    // The expires_at of the reservation. Until then, an upload URL may write to the storage_key.
    writable_until: `${DATE} NOT NULL`,
    // The end of an active object.
    temporary_until: DATE,
    // Of a pending attempt that waits for a verdict. Its expires_at ends the time for the check.
    arrived_at: DATE,
    // The terms of a pending attempt.
    temporary_seconds: 'INTEGER',
    check_seconds: 'INTEGER',
  },
  options: 'STRICT',
  indexes: [
    // Writes keep at most one active and one pending row of a key.
    { name: 'objects_live', definition: `(bucket, key) WHERE ${LIVE}` },
    { name: 'objects_history', definition: `(bucket, key, id) WHERE ${HISTORY}` },
    { name: 'objects_id', definition: `(id) WHERE ${LIVE}` },
    { name: 'objects_deleted_id', definition: `(id, deleted_at) WHERE ${HISTORY}` },
    // The attempts that have replaced an object, which keeps its id.
    { name: 'objects_attempt', definition: `(attempt_id) WHERE attempt_id <> id AND ${LIVE}` },
    { name: 'objects_by_scope', definition: '(scope, status, id)' },
    { name: 'objects_by_route', definition: '(scope, route, status, id) WHERE route IS NOT NULL' },
    { name: 'objects_stored', definition: `(bucket, coalesce(storage_key, key), key) WHERE ${LIVE}` },
    ...indexesOfObjects('expires_at', 'expires_at', 'expires_at IS NOT NULL AND arrived_at IS NULL'),
    ...indexesOfObjects('arrived', 'expires_at', 'arrived_at IS NOT NULL'),
    ...indexesOfObjects('temporary_until', 'temporary_until'),
    ...indexesOfObjects('deleted_at', 'deleted_at'),
  ],
}

/** What a scope uses, and its numbers of pending and deleted rows. */
export const SCOPE_USAGE: Table = {
  name: 'scope_usage',
  columns: {
    scope: 'TEXT PRIMARY KEY NOT NULL',
    bytes: 'INTEGER NOT NULL',
    files: 'INTEGER NOT NULL',
    reserved_bytes: 'INTEGER NOT NULL',
    reserved_files: 'INTEGER NOT NULL',
    pending: 'INTEGER NOT NULL',
    deleted: 'INTEGER NOT NULL',
  },
  options: 'STRICT, WITHOUT ROWID',
  indexes: [],
}

/** Bytes and uploads that may still be in the bucket although no live row refers to them. */
export const LEFTOVERS: Table = {
  name: 'leftovers',
  columns: {
    attempt_id: 'TEXT PRIMARY KEY NOT NULL',
    scope: 'TEXT',
    bucket: 'TEXT NOT NULL',
    key: 'TEXT NOT NULL',
    storage_key: 'TEXT',
    upload_id: 'TEXT',
    since: `${DATE} NOT NULL`,
    writable_until: `${DATE} NOT NULL`,
    // Of one that was never put off, a number that sorts before every date.
    due_at: `${DATE} NOT NULL`,
    // The end of the object.
    readable_until: DATE,
  },
  options: 'STRICT, WITHOUT ROWID',
  indexes: [
    ...datedIndexes('leftovers', 'since', 'since, attempt_id'),
    ...datedIndexes('leftovers', 'due_at', 'due_at, attempt_id'),
    { name: 'leftovers_stored', definition: '(bucket, coalesce(storage_key, key))' },
  ],
}

/** Events that are still to be delivered. Only an object's oldest event can be claimed. */
export const EVENTS: Table = {
  name: 'events',
  columns: {
    // No number is used again, because handlers recognize events by it.
    seq: 'INTEGER PRIMARY KEY AUTOINCREMENT',
    bucket: 'TEXT NOT NULL',
    key: 'TEXT NOT NULL',
    scope: 'TEXT NOT NULL',
    type: 'TEXT NOT NULL',
    // JSON lists of the values of the rows.
    object: 'TEXT NOT NULL',
    previous: 'TEXT',
    // Of a rejection.
    reason: 'TEXT',
    created_at: `${DATE} NOT NULL`,
    due_at: `${DATE} NOT NULL`,
    is_oldest: 'INTEGER NOT NULL',
    attempts: 'INTEGER NOT NULL DEFAULT 0',
    claim: 'TEXT',
    claimed_until: DATE,
  },
  options: 'STRICT',
  indexes: [
    { name: 'events_key', definition: '(bucket, key, seq)' },
    { name: 'events_due', definition: '(attempts > 0, due_at, seq) WHERE is_oldest = 1' },
  ],
}

/** The verdicts of the last hour, which late confirms report, and older ones until the next verdict. */
export const REJECTIONS: Table = {
  name: 'rejections',
  columns: {
    attempt_id: 'TEXT PRIMARY KEY NOT NULL',
    scope: 'TEXT NOT NULL',
    bucket: 'TEXT NOT NULL',
    key: 'TEXT NOT NULL',
    rejected_at: `${DATE} NOT NULL`,
    reason: 'TEXT',
  },
  options: 'STRICT, WITHOUT ROWID',
  indexes: datedIndexes('rejections', 'rejected_at', 'rejected_at'),
}

export const TABLES: readonly Table[] = [SCHEMA_VERSION, OBJECTS, SCOPE_USAGE, LEFTOVERS, EVENTS, REJECTIONS]

/** Returns the statement that creates a table, in the form in which SQLite keeps it. */
export function tableText({ name, columns, options }: Table): string {
  const list = Object.entries(columns).map(([column, definition]) => `${column} ${definition}`)
  return `CREATE TABLE {${name}} (${list.join(', ')}) ${options}`
}

export function indexText(table: Table, { name, definition }: Index): string {
  return `CREATE INDEX {${name}} ON {${table.name}} ${definition}`
}
