import { StorageError } from '../../../core/errors.js'

/** The number that the server gave the error it answered; `null` for every error that is no answer. */
export function serverCode(error: unknown): number | null {
  const code = (error as { code?: unknown } | null)?.code
  return error instanceof Error && typeof code === 'number' ? code : null
}

const DUPLICATE_KEY = 11000
const NO_SUCH_TRANSACTION = 251
const UNKNOWN_INDEX = 2

/** A member that is not, or no longer, the primary, or that is about to go. The driver looks for another. */
const NOT_THE_PRIMARY = [6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]

/** What undid a transaction for no fault of its own, or must be read again: others at the same time, or a lock. */
const LOST_RACE = [24, 112, 134, 239, 246, NO_SUCH_TRANSACTION]

const TRANSIENT = new Set([...NOT_THE_PRIMARY, ...LOST_RACE, DUPLICATE_KEY])

/** The names of errors of a connection that broke; what becomes of it the driver finds out by itself. */
const BROKEN = new Set([
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'MongoPoolClearedError',
  'PoolClearedOnNetworkError',
  'MongoPoolClosedError',
  'MongoServerClosedError',
])

/** The names of errors after which the driver does nothing more: it has waited as long as it was told to, or was closed. */
const UNREACHABLE = new Set([
  'MongoServerSelectionError',
  'MongoWaitQueueTimeoutError',
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoClientClosedError',
  'MongoExpiredSessionError',
])

/** The names of those that no waiting mends. */
const CLOSED = new Set([
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoClientClosedError',
  'MongoExpiredSessionError',
])

/** By name, because an application's driver has classes of its own. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : ''
}

function hasLabel(error: unknown, label: string): boolean {
  const labelled = error as { hasErrorLabel?: (label: string) => boolean } | null
  return typeof labelled?.hasErrorLabel === 'function' && labelled.hasErrorLabel(label)
}

/**
 * Whether the same may work when it is begun again, and nothing of it has happened so far: for reads, and for a
 * transaction whose commit was not sent or was refused. The driver's labels alone don't tell: a connection that breaks
 * while another breaks gets none.
 */
export function mayBeginAgain(error: unknown): boolean {
  const code = serverCode(error)
  if (code === null) return BROKEN.has(nameOf(error)) || hasLabel(error, 'TransientTransactionError')
  return TRANSIENT.has(code) || hasLabel(error, 'TransientTransactionError')
}

/** Whether two transactions met, so that this one was undone. */
export function lostRace(error: unknown): boolean {
  return serverCode(error) === 112 || serverCode(error) === DUPLICATE_KEY
}

/** After commit was sent: whether it may have taken effect, as far as this error says. */
export function leavesCommitUnknown(error: unknown): boolean {
  return serverCode(error) === null || hasLabel(error, 'UnknownTransactionCommitResult')
}

/** Whether the application has closed its client, so that asking again can't help. */
export function isClosed(error: unknown): boolean {
  return CLOSED.has(nameOf(error))
}

/** Whether the server said so itself, and so has undone the transaction. Also of an error that {@link databaseError} has made. */
export function wasAnswered(error: unknown): boolean {
  return serverCode(error instanceof StorageError ? error.cause : error) !== null
}

export const NOT_MIGRATED =
  'The collections of the adapter are missing, or are not those that this version needs: run migrate().'

/** What an operator reads for the code of an error that the server answered. */
const UNAVAILABLE: Readonly<Record<number, string>> = {
  [UNKNOWN_INDEX]: NOT_MIGRATED,
  13: 'MongoDB refuses this user what the adapter needs.',
  18: 'MongoDB refused the login.',
  20: 'MongoDB must be a replica set (one member is enough): a standalone server has no transactions.',
  26: NOT_MIGRATED,
  50: 'MongoDB has stopped the operation, because it took longer than it was allowed to.',
  8000: 'MongoDB refused the login.',
}

/** Whether the entries in DNS that a `mongodb+srv:` URL stands for could not be had; the driver passes that on as it is. */
function isLookUp(error: unknown): boolean {
  const { syscall } = (error ?? {}) as { syscall?: unknown }
  return error instanceof Error && typeof syscall === 'string' && /^query(?:Srv|Txt|Cname)$/.test(syscall)
}

/** The error that a caller of the store gets. By codes and names alone: texts differ between servers and versions. */
export function databaseError(error: unknown): unknown {
  if (error instanceof StorageError) return error
  const code = serverCode(error)
  if (code !== null) {
    const message = UNAVAILABLE[code]
    if (message !== undefined) return new StorageError('DATABASE_UNAVAILABLE', { message, cause: error })
  }
  const isAway = mayBeginAgain(error) || UNREACHABLE.has(nameOf(error)) || isLookUp(error)
  return isAway ? new StorageError('DATABASE_UNAVAILABLE', { cause: error }) : error
}
