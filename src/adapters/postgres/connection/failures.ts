import { StorageError } from '../../../core/errors.js'
import { isUnreadableFile, tlsProblem } from '../../shared/tls-problem.js'
import {
  CONNECTION_FAILURES,
  CONNECTION_REFUSED,
  FAILURES_BY_TEXT,
  FATAL_FAILURES,
  NO_RESPONSE,
  NOT_MIGRATED,
  STATEMENT_FAILURES,
  TLS_FAILURES,
  UNREADABLE_FILE,
  type Failure,
} from './failure-table.js'

/** What errors of drivers, of Node and of the server have. */
interface ErrorFields {
  readonly message?: unknown
  readonly code?: unknown
  /** In `pg`, in the language of the server. */
  readonly severity?: unknown
  /** What postgres.js calls it, if a pooler sends no other. */
  readonly severity_local?: unknown
}

/** Returns the SQLSTATE of an error that the database reported, and `null` for any other error. */
export function sqlState(error: unknown): string | null {
  const { code } = Object(error) as ErrorFields
  // Some error codes of Node, such as EPIPE, have the same length. No SQLSTATE begins with E.
  return typeof code === 'string' && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) ? code : null
}

/** Programming errors. A connection never fails with one of these. */
const BUGS = [TypeError, RangeError, ReferenceError, SyntaxError]

/**
 * Returns what an error of a driver means, or `null` if it is a bug. Relies on codes and severity: texts differ between
 * servers, versions and languages.
 */
function failureOf(error: unknown): Failure | null {
  const state = sqlState(error)
  const text = String((Object(error) as ErrorFields).message)
  const byText = FAILURES_BY_TEXT.find((known) => (known.state ?? null) === state && known.text.test(text))
  if (byText) return byText.failure
  if (state === null) return localFailure(error)
  const ofConnection = byState(CONNECTION_FAILURES, state)
  if (ofConnection) return ofConnection
  if (isFatal(error)) return byState(FATAL_FAILURES, state) ?? CONNECTION_REFUSED
  return byState(STATEMENT_FAILURES, state) ?? null
}

/** Returns the failure of an error that no server reported. Errors may be events, or of no class of this realm. */
function localFailure(error: unknown): Failure | null {
  const problem = tlsProblem(error)
  if (problem) return TLS_FAILURES[problem]
  if (isUnreadableFile(error)) return UNREADABLE_FILE
  return BUGS.some((bug) => error instanceof bug) ? null : NO_RESPONSE
}

/** Returns whether the error ended or refused the connection, whatever its code. Poolers have one code for many reasons. */
function isFatal(error: unknown): boolean {
  const { severity, severity_local } = Object(error) as ErrorFields
  return ['FATAL', 'PANIC'].includes(String(severity ?? severity_local))
}

function byState(failures: Readonly<Record<string, Failure>>, state: string): Failure | undefined {
  return failures[state] ?? failures[state.slice(0, 2)]
}

/** Converts an error of the driver. */
export function databaseError(error: unknown): unknown {
  if (error instanceof StorageError) return error
  const failure = failureOf(error)
  if (failure === null) return error
  const { message, retryable } = failure
  return new StorageError('DATABASE_UNAVAILABLE', {
    message,
    cause: error,
    ...(!retryable && { retryable }),
  })
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

/** Returns whether Postgres rolled the transaction back for a serialization failure or a deadlock. */
export function wasRolledBack(error: unknown): boolean {
  const state = sqlState(error)
  return (state === '40001' || state === '40P01') && !isFatal(error)
}

/** Returns whether the connection broke. The statement may or may not have taken effect. */
export function lostResponse(error: unknown): boolean {
  return failureOf(error)?.phase === 'lost'
}

/** Returns whether the database reported the error, so it rolled back. Also accepts what {@link databaseError} made. */
export function wasReported(error: unknown): boolean {
  const reported = error instanceof StorageError ? error.cause : error
  return sqlState(reported) !== null && (failureOf(reported)?.phase ?? 'statement') === 'statement'
}

/** Returns whether the caller's transaction had already failed, so the statement did not run. */
export function isInFailedTransaction(error: unknown): boolean {
  return sqlState(error) === '25P02'
}

/** Returns whether the server takes no writes: a standby, or one with `default_transaction_read_only`. */
export function isReadOnly(error: unknown): boolean {
  return sqlState(error) === '25006'
}

/** Returns whether another object, or one in history, already has the id of a new attempt. */
export function isDuplicateId(error: unknown): boolean {
  if (sqlState(error) !== '23505') return false
  // pg and PGlite call it `constraint`, postgres.js `constraint_name`.
  const { constraint, constraint_name } = error as { constraint?: unknown; constraint_name?: unknown }
  return (constraint ?? constraint_name) === 'objects_pkey'
}
