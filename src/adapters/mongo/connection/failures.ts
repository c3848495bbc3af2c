import { StorageError } from '../../../core/errors.js'
import { isUnreadableFile, tlsProblem } from '../../shared/tls-problem.js'
import {
  CLIENT_CLOSED,
  DRIVER_FAILURES,
  DUPLICATE_KEY,
  FAILURES_BY_TEXT,
  FOREIGN_INDEX,
  LOST,
  NO_SUCH_TRANSACTION,
  SERVER_FAILURES,
  TLS_FAILURES,
  UNDONE,
  UNREADABLE_FILE,
  WRITE_CONFLICT,
  type Failure,
} from './failure-table.js'

export { NOT_MIGRATED, TIME_LIMIT_EXCEEDED } from './failure-table.js'

/** What errors of the server, of the driver and of Node have. */
interface ErrorFields {
  readonly name?: unknown
  readonly message?: unknown
  readonly code?: unknown
  readonly cause?: unknown
  /** The fields of the index that refused a duplicate. */
  readonly keyPattern?: unknown
}

const fieldsOf = (error: unknown) => Object(error) as ErrorFields

/** Returns the error code that the server sent; `null` for errors that did not come from the server. */
export function serverCode(error: unknown): number | null {
  const { code, name } = fieldsOf(error)
  // It has the code of what the driver heard from one of the servers.
  if (name === 'MongoServerSelectionError') return null
  return typeof code === 'number' ? code : null
}

/**
 * Returns what an error means, or `null` if it is a bug. Looks at labels, codes and names. Texts differ between servers and
 * versions, so they decide only where a code stands for several reasons.
 */
function failureOf(error: unknown): Failure | null {
  const code = serverCode(error)
  const text = String(fieldsOf(error).message)
  const byText = FAILURES_BY_TEXT.find((known) => known.code === code && known.text.test(text))
  if (byText) return byText.failure
  if (code === DUPLICATE_KEY && !isOfId(error)) return FOREIGN_INDEX
  const known = code === null ? localFailure(error) : SERVER_FAILURES[code]
  if (known) return known
  if (hasLabel(error, 'UnknownTransactionCommitResult')) return LOST
  return PASSING_LABELS.some((label) => hasLabel(error, label)) ? UNDONE : null
}

/** Labels of errors that pass: the server's own, and those that the driver adds. */
const PASSING_LABELS = ['TransientTransactionError', 'RetryableWriteError', 'SystemOverloadedError']

/** Returns the failure of an error that no server reported, or else that of what caused it. */
function localFailure(error: unknown): Failure | null {
  const causes = causesOf(error)
  for (const cause of causes) {
    const problem = tlsProblem(cause)
    if (problem) return TLS_FAILURES[problem]
    if (isUnreadableFile(cause)) return UNREADABLE_FILE
  }
  const known = DRIVER_FAILURES[String(fieldsOf(error).name)]
  if (known) return known
  return isSystemError(error) ? LOST : null
}

/** Returns the error and its causes, the outermost first. */
function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = []
  for (let next = error; next !== undefined && causes.length < 5; next = fieldsOf(next).cause) {
    causes.push(next)
  }
  return causes
}

/** Programming errors, some of which have a code of Node. */
const BUGS = [TypeError, RangeError]

/**
 * Returns whether the error is of a socket or of DNS. The driver passes some of these on unchanged: those of connections
 * that were closed while the event loop stood still, and of `mongodb+srv:` URLs.
 */
function isSystemError(error: unknown): boolean {
  if (BUGS.some((bug) => error instanceof bug)) return false
  return /^E(?!RR_)[A-Z]|^ERR_(?:STREAM|SOCKET|TLS)_/.test(String(fieldsOf(error).code))
}

function isOfId(error: unknown): boolean {
  const { keyPattern, message } = fieldsOf(error)
  if (keyPattern !== undefined) return Object.keys(Object(keyPattern) as object).join() === '_id'
  return !/ index: (?!_id_)/.test(String(message))
}

function hasLabel(error: unknown, label: string): boolean {
  const labelled = error as { hasErrorLabel?: (label: string) => boolean } | null
  return typeof labelled?.hasErrorLabel === 'function' && labelled.hasErrorLabel(label)
}

/** Returns whether to run again what may take effect twice, such as a read. */
export function isRetryable(error: unknown): boolean {
  const failure = failureOf(error)
  return failure?.repeats === 'everywhere' || (failure?.retryable === true && isTransient(error))
}

/** Returns whether a transaction that was not committed may run again. */
export function isRetryableInTransaction(error: unknown): boolean {
  return isRetryable(error) || failureOf(error)?.repeats === 'in transactions'
}

function isTransient(error: unknown): boolean {
  return hasLabel(error, 'TransientTransactionError')
}

/** Returns whether the member that got the command is not the primary, or is shutting down. */
export function isNotPrimary(error: unknown): boolean {
  return [10058, 10107, 13435, 13436].includes(serverCode(error) ?? 0)
}

/** Returns whether the server undid the transaction because it conflicted with another one. */
export function isWriteConflict(error: unknown): boolean {
  const code = serverCode(error)
  return code === WRITE_CONFLICT || (code === DUPLICATE_KEY && isOfId(error))
}

/** The transaction may have been committed, and the server can no longer be asked. It MUST NOT run again. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown'
}

/** Returns whether a commit that failed with this error may have taken effect. */
export function leavesCommitUnknown(error: unknown): boolean {
  const code = serverCode(error)
  // Without the label, the server no longer knows the transaction: an earlier try to commit may have succeeded.
  if (code === NO_SUCH_TRANSACTION) return !isTransient(error)
  if (hasLabel(error, 'UnknownTransactionCommitResult')) return true
  return failureOf(error)?.leavesCommitUnknown ?? code === null
}

/** Returns whether the application has closed its client, so that retrying does not help. */
export function isClientClosed(error: unknown): boolean {
  return CLIENT_CLOSED.has(String(fieldsOf(error).name))
}

/** Returns whether the server reported the error, so it rolled back. Also accepts what {@link databaseError} made. */
export function isServerError(error: unknown): boolean {
  return serverCode(error instanceof StorageError ? error.cause : error) !== null
}

/** Maps an error to that of the store. */
export function databaseError(error: unknown): unknown {
  if (error instanceof StorageError) return error
  if (error instanceof CommitUnknown) {
    return new StorageError('DATABASE_UNAVAILABLE', { message: error.message, cause: error.cause })
  }
  const failure = failureOf(error)
  if (failure === null) return error
  const { message, retryable } = failure
  return new StorageError('DATABASE_UNAVAILABLE', { message, cause: error, ...(!retryable && { retryable }) })
}
