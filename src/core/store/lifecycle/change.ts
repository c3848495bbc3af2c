import type { RecordedChange } from '../events.js'
import type { Leftover, ObjectReference, ScopeUsage, StorageObject } from '../records.js'
import { usageOfKey } from './usage.js'

/** A row with the fields that only drivers need. Leave them out of the rows and events that you return. */
export interface TrackedRow extends StorageObject {
  /** The `expiresAt` that the row's attempt began with. Until then an upload URL may still write to its `storageKey`. */
  readonly writableUntil: Date
  /** The term of a pending attempt that makes its object temporary. `null` once active. */
  readonly temporarySeconds: number | null
  /** The term of a pending attempt that has its bytes checked. `null` once active. */
  readonly checkSeconds: number | null
}

/** The verdict on an attempt, which `confirm` reports for an hour. */
export interface Rejection extends ObjectReference {
  readonly attemptId: string
  readonly scope: string
  readonly rejectedAt: Date
  readonly reason: string | null
}

/** The live rows of one key, both of the same scope. */
export interface LiveRows {
  readonly active: TrackedRow | null
  readonly pending: TrackedRow | null
}

/** The rows of a key at which nothing is live. */
export const NOTHING_LIVE: LiveRows = { active: null, pending: null }

/**
 * A change of one key. `before` and `after` have different scopes if the object changes its owner, or if the write takes over
 * another scope's expired reservation.
 */
export interface KeyChange {
  readonly outcome: 'change'
  readonly before: LiveRows
  readonly after: LiveRows
  /** The row to store as history. It needs no `writableUntil`: its bytes are among the leftovers. */
  readonly history: StorageObject | null
  /** The leftovers to store, each in place of one of the same attempt. */
  readonly leftovers: readonly Leftover[]
  /** The event to record if events are on. `null` if no active object changed, and no attempt arrived or was rejected. */
  readonly event: RecordedChange | null
  /** The rejection to remember, in place of one of the same attempt. Only a `reject` has one. */
  readonly rejection?: Rejection
  /** The row to return. */
  readonly row: StorageObject
}

/** Nothing to write; the call returns this row. */
export interface Unchanged<Row extends StorageObject | null> {
  readonly outcome: 'unchanged'
  readonly row: Row
}

export const UNCHANGED: Unchanged<null> = { outcome: 'unchanged', row: null }

/**
 * Returns the scope of a key's live rows, or `null` if there are none.
 *
 * @example
 * import { scopeOf } from '@svc/db/adapter'
 *
 * const owner = scopeOf(live)
 */
export function scopeOf({ active, pending }: LiveRows): string | null {
  return active?.scope ?? pending?.scope ?? null
}

/**
 * Returns what a key's live rows add to the usage of their scope.
 *
 * @example
 * import { usageOf } from '@svc/db/adapter'
 *
 * const { bytes, files } = usageOf(live)
 */
export function usageOf({ active, pending }: LiveRows): ScopeUsage {
  return usageOfKey(active, pending)
}

/** Returns whether the bytes of an attempt have arrived and wait for their check. */
export function hasArrived(pending: TrackedRow | null): pending is TrackedRow & { readonly arrivedAt: Date } {
  return pending !== null && pending.arrivedAt !== null
}

/**
 * Returns whether a reservation has expired. One whose bytes have arrived never does.
 *
 * @example
 * import { hasExpired } from '@svc/db/adapter'
 *
 * const expired = hasExpired(pending, new Date())
 */
export function hasExpired(pending: StorageObject, now: Date): boolean {
  return pending.arrivedAt === null && pending.expiresAt !== null && pending.expiresAt <= now
}

/**
 * Returns whether the end of an active row has come, so that no call may bring it back.
 *
 * @example
 * import { isPastEnd } from '@svc/db/adapter'
 *
 * const gone = isPastEnd(object, new Date())
 */
export function isPastEnd({ temporaryUntil }: StorageObject, now: Date): boolean {
  return temporaryUntil !== null && temporaryUntil <= now
}

/** Returns the leftover of a row that is no longer live, if it may have bytes or an upload in the bucket. */
export function leftoverOf(row: TrackedRow | null, now: Date): Leftover[] {
  if (row === null || (row.storageKey === null && row.uploadId === null)) return []
  const { attemptId, scope, bucket, key, storageKey, uploadId, writableUntil, temporaryUntil } = row
  const names = { attemptId, scope, bucket, key, storageKey, uploadId }
  return [{ ...names, since: now, writableUntil, dueAt: null, readableUntil: temporaryUntil }]
}

export function endOfAttempt(before: LiveRows, pending: TrackedRow, now: Date): KeyChange {
  const after: LiveRows = { active: before.active, pending: null }
  const leftovers = leftoverOf(pending, now)
  return { outcome: 'change', before, after, history: null, leftovers, event: null, row: pending }
}
