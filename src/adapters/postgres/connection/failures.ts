import { StorageError } from '../../../core/errors.js'

/** SQLSTATE of an error that the database itself answered; `null` for every other error. */
export function sqlState(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code
  // Some codes of Node's own errors, such as EPIPE, have as many letters; no class of SQLSTATE begins with E.
  return typeof code === 'string' && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) ? code : null
}

const NOT_MIGRATED = 'The database schema is missing or is not the one this version needs: run migrate().'
const PERMISSION = 'The database refuses this role what the adapter needs.'
const STOPPED = 'The database stopped the statement.'

/** What an operator reads for a SQLSTATE, or for its class, the first two characters. */
const UNAVAILABLE: Readonly<Record<string, string>> = {
  '08': 'The connection to the database was lost.',
  '0A': 'The database does not support what the adapter needs.',
  '25001':
    'The writes of the adapter need the isolation level READ COMMITTED: check default_transaction_isolation.',
  '25006':
    '`pool` leads to a read-only server, such as a standby: every call that may write needs the primary.',
  // Timeouts of a transaction that end the session with it: idle in a transaction, and (from Postgres 17 on) of the whole.
  '25P03': STOPPED,
  '25P04': STOPPED,
  '25P02': 'The connection is in a transaction that has failed: roll it back before the next call.',
  '26': 'A prepared statement is gone: behind a pooler that does not keep them, set namedStatements: false.',
  // Raised by the text of migrate().
  SD001: 'CockroachDB is not supported: its advisory locks lock nothing.',
  SD002: 'The database must have the encoding UTF8.',
  '28': 'The database refused the login.',
  '3D': 'There is no such database.',
  '3F': NOT_MIGRATED,
  '40': 'The transaction was rolled back because of others at the same time.',
  '42501': PERMISSION,
  '42703': NOT_MIGRATED,
  '42883': NOT_MIGRATED,
  '42P01': NOT_MIGRATED,
  '42P05':
    'A prepared statement was there already: behind a pooler that does not keep them apart, set namedStatements: false.',
  '53': 'The database has run out of a resource.',
  '55P03': 'A lock was not to be had in time.',
  '57': STOPPED,
  '58': 'The system under the database failed.',
}

/** Errors of a program that is wrong; what comes from a connection is none of them. */
const BUGS = [TypeError, RangeError, ReferenceError, SyntaxError]

/** The error that a caller of the store gets. By codes alone: texts differ between servers, versions and languages. */
export function databaseError(error: unknown): unknown {
  if (error instanceof StorageError) return error
  const state = sqlState(error)
  if (state !== null) {
    const message = UNAVAILABLE[state] ?? UNAVAILABLE[state.slice(0, 2)]
    return message === undefined ? error : new StorageError('DATABASE_UNAVAILABLE', { message, cause: error })
  }
  // Without a SQLSTATE it is no answer of the database: no connection was to be had, or it broke.
  if (!(error instanceof Error) || BUGS.some((bug) => error instanceof bug)) return error
  return new StorageError('DATABASE_UNAVAILABLE', { cause: error })
}

/** The transaction was rolled back as a whole, for no fault of its own. */
export function wasRolledBack(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01'
}

/** By an administrator, by a crash, or because it was idle for longer than the server allows. */
const ENDED_SESSION = new Set(['57P01', '57P02', '57P05'])

/** The connection broke, so that nobody knows whether the statement took effect. */
export function lostAnswer(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== null) return state.startsWith('08') || ENDED_SESSION.has(state)
  return error instanceof Error && !BUGS.some((bug) => error instanceof bug)
}

/**
 * Whether the database said so itself, and so has undone the transaction that failed. Also of an error that
 * {@link databaseError} has made.
 */
export function wasAnswered(error: unknown): boolean {
  const answer = error instanceof StorageError ? error.cause : error
  return sqlState(answer) !== null && !lostAnswer(answer)
}

/** The transaction, which the caller began, had failed before: so nothing was tried. */
export function hadFailedBefore(error: unknown): boolean {
  return sqlState(error) === '25P02'
}

/** Whether something that the code calls isn't there. */
export function isUndefinedThing(error: unknown): boolean {
  const state = sqlState(error)
  return state === '42P01' || state === '3F000'
}

/** Whether a new attempt has the id of one that made a row of another key, or of history. */
export function isTakenId(error: unknown): boolean {
  return sqlState(error) === '23505' && (error as { constraint?: unknown }).constraint === 'objects_pkey'
}
