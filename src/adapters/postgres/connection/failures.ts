import { StorageError } from '../../../core/errors.js'

/** Returns the SQLSTATE of an error that the database reported, and `null` for any other error. */
export function sqlState(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code
  // Some error codes of Node, such as EPIPE, have the same length. No SQLSTATE begins with E.
  return typeof code === 'string' && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) ? code : null
}

const NOT_MIGRATED =
  'The database schema is missing, renamed or older than this release needs. Run migrate().'
const CANCELED = 'The database canceled the statement.'

/** Messages for the operator, by SQLSTATE or by its class, which is the first two characters. */
const UNAVAILABLE: Readonly<Record<string, string>> = {
  '08': 'The connection to the database was lost.',
  '25006': '`pool` is connected to a read-only server, such as a standby. Writes need the primary.',
  // idle_in_transaction_session_timeout, and transaction_timeout of Postgres 17. Both end the session.
  '25P03': CANCELED,
  '25P04': CANCELED,
  '25P02': 'The transaction of this connection has failed. Call ROLLBACK before the next call.',
  '26': 'A prepared statement no longer exists. Behind a pooler that does not track them, set namedStatements: false.',
  '40': 'The transaction conflicted with concurrent ones and was rolled back.',
  '42P05':
    'A prepared statement already exists. Behind a pooler that shares connections, set namedStatements: false.',
  '53': 'The database has run out of connections, disk space or memory.',
  '55000': 'The database refused the call in its present state, such as one that accepts no connections.',
  '55P03': 'The database did not get a lock within its timeout.',
  '57': CANCELED,
  '58': 'The operating system or disk of the database server failed.',
}

/** The same for failures that last until an operator acts, so that retrying does not help. */
const UNUSABLE: Readonly<Record<string, string>> = {
  '0A': 'The database lacks a feature that the adapter needs.',
  '25001':
    'Writes of the adapter need the isolation level READ COMMITTED. Check the transaction that you opened, or default_transaction_isolation.',
  // Raised by the SQL of migrate().
  SD001: 'CockroachDB is not supported because its advisory locks have no effect.',
  SD002: 'The database must have the encoding UTF8.',
  // The tables of the adapter have no foreign keys.
  '23503':
    'A foreign key of the application refers to a row that the call would delete. Drop the key: see docs/your-orm.md#foreign-keys.',
  '28': 'The database rejected the login.',
  '3D': 'The database does not exist.',
  '3F': NOT_MIGRATED,
  '42501': 'The database role lacks a permission that the adapter needs.',
  '42703': NOT_MIGRATED,
  '42704': NOT_MIGRATED,
  '42883': NOT_MIGRATED,
  '42P01': NOT_MIGRATED,
}

/** The same for failures without a code of their own: pg throws the first one itself, and PgBouncer has one code for all of its. */
const UNUSABLE_BY_TEXT: readonly (readonly [RegExp, string])[] = [
  [
    /^Prepared statements must be unique/,
    'Something changes the text of each statement, such as a comment with a trace id. Set namedStatements: false.',
  ],
  [
    /unsupported startup parameter/,
    'PgBouncer refused a startup parameter, such as statement_timeout. Set it on the role instead: see docs/postgres.md#pgbouncer.',
  ],
]

function unusableByText(error: unknown): string | undefined {
  const text = String((error as { message?: unknown } | null | undefined)?.message)
  return UNUSABLE_BY_TEXT.find(([pattern]) => pattern.test(text))?.[1]
}

/** Programming errors. A connection never fails with one of these. */
const BUGS = [TypeError, RangeError, ReferenceError, SyntaxError]

/** Returns whether there was no connection, or it broke. Errors may be events, or of no class of this realm. */
function isNoResponse(error: unknown): boolean {
  return sqlState(error) === null && !unusableByText(error) && !BUGS.some((bug) => error instanceof bug)
}

/** Converts an error of the driver. Relies on codes: texts differ between servers, versions and languages. */
export function databaseError(error: unknown): unknown {
  if (error instanceof StorageError) return error
  const state = sqlState(error)
  const unusable = unusableByText(error) ?? (state === null ? undefined : byState(UNUSABLE, state))
  if (unusable !== undefined) {
    return new StorageError('DATABASE_UNAVAILABLE', { message: unusable, cause: error, retryable: false })
  }
  if (state === null) {
    return isNoResponse(error) ? new StorageError('DATABASE_UNAVAILABLE', { cause: error }) : error
  }
  const message = byState(UNAVAILABLE, state)
  return message === undefined ? error : new StorageError('DATABASE_UNAVAILABLE', { message, cause: error })
}

/** Returns whether {@link databaseError} made this error for a schema that is missing or older. */
export function isNotMigrated(error: unknown): boolean {
  return error instanceof StorageError && error.message === NOT_MIGRATED
}

/** Returns a copy of an error, whose stack begins here, with another message if one is given. */
export function copyOf(error: StorageError, message = error.message): StorageError {
  const { code, cause, retryable } = error
  return new StorageError(code, { message, cause, ...(!retryable && { retryable }) })
}

function byState(messages: Readonly<Record<string, string>>, state: string): string | undefined {
  return messages[state] ?? messages[state.slice(0, 2)]
}

/** Returns whether Postgres rolled the transaction back for a serialization failure or a deadlock. */
export function wasRolledBack(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01'
}

/** Ended by an administrator, by a crash, or by an idle timeout. */
const ENDED_SESSION = new Set(['57P01', '57P02', '57P05'])

/** Returns whether the connection broke. The statement may or may not have taken effect. */
export function lostResponse(error: unknown): boolean {
  const state = sqlState(error)
  if (state === null) return isNoResponse(error)
  return (state.startsWith('08') && !unusableByText(error)) || ENDED_SESSION.has(state)
}

/** Returns whether the database reported the error, so it rolled back. Also accepts what {@link databaseError} made. */
export function wasReported(error: unknown): boolean {
  const reported = error instanceof StorageError ? error.cause : error
  return sqlState(reported) !== null && !lostResponse(reported)
}

/** Returns whether the caller's transaction had already failed, so the statement did not run. */
export function isInFailedTransaction(error: unknown): boolean {
  return sqlState(error) === '25P02'
}

/** Returns whether another object, or one in history, already has the id of a new attempt. */
export function isDuplicateId(error: unknown): boolean {
  if (sqlState(error) !== '23505') return false
  // pg and PGlite call it `constraint`, postgres.js `constraint_name`.
  const { constraint, constraint_name } = error as { constraint?: unknown; constraint_name?: unknown }
  return (constraint ?? constraint_name) === 'objects_pkey'
}
