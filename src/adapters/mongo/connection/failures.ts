import { StorageError } from '../../../core/errors.js'

/** Returns the error code that the server sent; `null` for errors that did not come from the server. */
export function serverCode(error: unknown): number | null {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'number' ? code : null
}

const WRITE_CONFLICT = 112
const DUPLICATE_KEY = 11000
const NO_SUCH_TRANSACTION = 251
const UNKNOWN_INDEX = 2
export const TIME_LIMIT_EXCEEDED = 50
/** The transaction lasted longer than `transactionLifetimeLimitSeconds`. The server gives this error no label. */
const TRANSACTION_EXPIRED = 290

/** The member is not the primary, or is shutting down. Or a router has found no primary for 15 seconds. */
const NOT_PRIMARY = [6, 7, 89, 91, 133, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]

/** The transaction or read lost against a concurrent one, a lock, or its time limit. */
const CONFLICT = [24, WRITE_CONFLICT, 134, 239, 246, NO_SUCH_TRANSACTION, TRANSACTION_EXPIRED]

/** The collection was sharded, or its chunks moved, after the router looked where they are or after the moment to read. */
const MOVED = [63, 150, 249, 250, 272, 304, 13388]

/** A commit that fails with one of these may have taken effect. The driver's label is missing for some. */
const COMMIT_UNKNOWN = new Set([...NOT_PRIMARY, TRANSACTION_EXPIRED])

const RETRYABLE = new Set([...NOT_PRIMARY, ...CONFLICT, ...MOVED, DUPLICATE_KEY])

// Driver errors are recognized by name: the application may load another copy of the driver, with other classes.

/** Names of errors of a broken connection. The driver reconnects by itself. */
const BROKEN_CONNECTION = new Set([
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'MongoPoolClearedError',
  'PoolClearedOnNetworkError',
  'MongoPoolClosedError',
  'MongoServerClosedError',
])

/** Names of errors after which the application's client is closed for good. */
const CLOSED = new Set([
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoClientClosedError',
  'MongoExpiredSessionError',
])

/** Names of errors after which the driver has given up: its own time limit has passed, or it was closed. */
const UNREACHABLE = new Set(['MongoServerSelectionError', 'MongoWaitQueueTimeoutError', ...CLOSED])

function nameOf(error: unknown): string {
  return String((error as { name?: unknown } | null)?.name)
}

function hasLabel(error: unknown, label: string): boolean {
  const labelled = error as { hasErrorLabel?: (label: string) => boolean } | null
  return typeof labelled?.hasErrorLabel === 'function' && labelled.hasErrorLabel(label)
}

/**
 * Returns whether a retry may succeed and is safe: for reads, and for transactions whose commit was not sent or was
 * refused. A connection that breaks while another one breaks gets no label of the driver.
 */
export function isRetryable(error: unknown): boolean {
  const code = serverCode(error)
  const isKnown = code === null ? BROKEN_CONNECTION.has(nameOf(error)) : RETRYABLE.has(code)
  return isKnown || hasLabel(error, 'TransientTransactionError')
}

/** Returns whether the server undid the transaction because it conflicted with another one. */
export function isWriteConflict(error: unknown): boolean {
  return serverCode(error) === WRITE_CONFLICT || serverCode(error) === DUPLICATE_KEY
}

/** The transaction may have been committed, and the server can no longer be asked. It MUST NOT run again. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown'
}

/** Returns whether a commit that failed with this error may have taken effect. */
export function leavesCommitUnknown(error: unknown): boolean {
  const code = serverCode(error)
  // Without the label, the server no longer knows the transaction: an earlier try to commit may have succeeded.
  if (code === NO_SUCH_TRANSACTION) return !hasLabel(error, 'TransientTransactionError')
  return code === null || COMMIT_UNKNOWN.has(code) || hasLabel(error, 'UnknownTransactionCommitResult')
}

/** Returns whether the application has closed its client, so that retrying does not help. */
export function isClientClosed(error: unknown): boolean {
  return CLOSED.has(nameOf(error))
}

/** Returns whether the server reported the error, so it rolled back. Also accepts what {@link databaseError} made. */
export function isServerError(error: unknown): boolean {
  return serverCode(error instanceof StorageError ? error.cause : error) !== null
}

export const NOT_MIGRATED =
  'The collections of the adapter are missing, or are not the ones that this version needs: run migrate().'

/** Messages for operators, by the server's error code, for failures that last until an operator acts. */
const UNUSABLE: Readonly<Record<number, string>> = {
  [UNKNOWN_INDEX]: NOT_MIGRATED,
  13: 'The MongoDB user lacks a privilege that the adapter needs.',
  18: 'MongoDB rejected the login.',
  20: 'MongoDB must be a replica set (one member is enough): a standalone server has no transactions.',
  26: NOT_MIGRATED,
  8000: 'MongoDB rejected the login.',
}

/** Returns whether a DNS lookup for a `mongodb+srv:` URL failed. The driver passes such errors on unchanged. */
function isDnsError(error: unknown): boolean {
  const { syscall } = (error ?? {}) as { syscall?: unknown }
  return typeof syscall === 'string' && /^query(?:Srv|Txt|Cname)$/.test(syscall)
}

/** Maps an error to that of the store. Looks at codes and names, because texts differ between servers and versions. */
export function databaseError(error: unknown): unknown {
  if (error instanceof StorageError) return error
  if (error instanceof CommitUnknown) {
    return new StorageError('DATABASE_UNAVAILABLE', { message: error.message, cause: error.cause })
  }
  const code = serverCode(error)
  const unusable = code === null ? undefined : UNUSABLE[code]
  if (unusable !== undefined) {
    return new StorageError('DATABASE_UNAVAILABLE', { message: unusable, cause: error, retryable: false })
  }
  if (code === TIME_LIMIT_EXCEEDED) {
    const message = 'MongoDB cancelled the operation because it exceeded its time limit.'
    return new StorageError('DATABASE_UNAVAILABLE', { message, cause: error })
  }
  const isUnavailable = isRetryable(error) || UNREACHABLE.has(nameOf(error)) || isDnsError(error)
  return isUnavailable ? new StorageError('DATABASE_UNAVAILABLE', { cause: error }) : error
}
