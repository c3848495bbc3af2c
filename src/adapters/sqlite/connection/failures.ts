import { StorageError } from '../../../core/errors.js'

export const NOT_MIGRATED =
  'The tables of the store are missing or older than this release needs. Run migrate().'

/** The primary result codes of SQLite, by the name that better-sqlite3 has in its codes. */
const CODES: Readonly<Record<number, string>> = {
  3: 'PERM',
  5: 'BUSY',
  6: 'LOCKED',
  7: 'NOMEM',
  8: 'READONLY',
  10: 'IOERR',
  11: 'CORRUPT',
  13: 'FULL',
  14: 'CANTOPEN',
  15: 'PROTOCOL',
  19: 'CONSTRAINT',
  26: 'NOTADB',
}

interface Failure {
  readonly message: string
  /** Whether the same call may succeed later, before an operator acts. */
  readonly retryable: boolean
}

const passing = (message: string): Failure => ({ message, retryable: true })
const lasting = (message: string): Failure => ({ message, retryable: false })

const FAILURES: Readonly<Record<string, Failure>> = {
  PERM: lasting('SQLite may not access the database file. Check its permissions and those of its folder.'),
  BUSY: passing('Another connection has locked the database file for too long.'),
  LOCKED: passing('Another connection has locked the database file for too long.'),
  NOMEM: passing('SQLite has run out of memory.'),
  READONLY: lasting(
    'The database file is read-only: it was opened so, or its permissions or those of its folder forbid writes.',
  ),
  IOERR: passing('Reading or writing the database file failed. Check the disk.'),
  CORRUPT: lasting('The database file is damaged. Restore it from a backup.'),
  FULL: passing('The database file cannot grow: the disk is full, or the file has reached max_page_count.'),
  CANTOPEN: lasting('SQLite cannot open the database file. Check that it exists, and its permissions.'),
  PROTOCOL: passing('SQLite did not get a lock on the database file.'),
  NOTADB: lasting('The file is not an SQLite database.'),
}

const FOREIGN_KEY = lasting(
  // The tables of the adapter have no foreign keys.
  'A foreign key of the application refers to a row that the call would delete or change. Drop the key: see docs/sqlite.md#your-own-tables.',
)

/** The application closed the handle: `node:sqlite` has a code for it, and better-sqlite3 only a text. */
const NOT_OPEN = /^(?:database is not open|the database connection is not open|statement has been finalized)/i

/** Returns the primary result code of an error of SQLite, such as `BUSY`, and `null` for other errors. */
export function sqliteCode(error: unknown): string | null {
  const { code, errcode } = Object(error) as { readonly code?: unknown; readonly errcode?: unknown }
  // The lowest byte of an extended result code is the primary one.
  if (code === 'ERR_SQLITE_ERROR') return CODES[Number(errcode) & 0xff] ?? 'ERROR'
  return typeof code === 'string' ? (/^SQLITE_([A-Z]+)/.exec(code)?.[1] ?? null) : null
}

/** Returns whether SQLite refused a statement because another connection uses the file. Nothing of it has happened. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error)
  return code === 'BUSY' || code === 'LOCKED' || code === 'PROTOCOL'
}

export function isClosed(error: unknown): boolean {
  return NOT_OPEN.test(String((Object(error) as { readonly message?: unknown }).message))
}

/** Returns whether a foreign key of the application stopped a statement. */
export function isForeignKey(error: unknown): boolean {
  return sqliteCode(error) === 'CONSTRAINT' && /FOREIGN KEY/.test((error as Error).message)
}

function failureOf(error: unknown): Failure | null {
  if (isClosed(error)) return passing('The database is not open.')
  const code = sqliteCode(error)
  if (code === null) return null
  if (isForeignKey(error)) return FOREIGN_KEY
  // SQLite has one code for all mistakes in a statement. A text tells those of a schema.
  const lacksSchema = code === 'ERROR' && /^no such (?:table|column|index)/.test((error as Error).message)
  return lacksSchema ? lasting(NOT_MIGRATED) : (FAILURES[code] ?? null)
}

/** Converts an error of SQLite. Bugs stay as they are. */
export function databaseError(error: unknown): unknown {
  if (error instanceof StorageError) return error
  const failure = failureOf(error)
  return failure === null ? error : unavailable(failure, error)
}

export function unavailable({ message, retryable }: Failure, cause?: unknown): StorageError {
  return new StorageError('DATABASE_UNAVAILABLE', { message, cause, ...(!retryable && { retryable }) })
}

export const notMigrated = () => unavailable(lasting(NOT_MIGRATED))
