import type { RecordedChange } from '../events.js'
import type { Leftover, ScopeUsage, StorageObject } from '../records.js'
import { usageOfKey } from './usage.js'

/** A row with the field that only drivers need. Leave it out of the rows and events that you return. */
export interface TrackedRow extends StorageObject {
  /** The `expiresAt` of the row's attempt. Until then an upload URL may still write to its `storageKey`. */
  readonly writableUntil: Date
}

/** The live rows of one key, both of the same scope. */
export interface LiveRows {
  readonly active: TrackedRow | null
  readonly pending: TrackedRow | null
}

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
  /** The event to record if events are on. `null` if no active object changed. */
  readonly event: RecordedChange | null
  /** The row to return. */
  readonly row: StorageObject
}

/** Nothing to write; the call returns this row. */
export interface Unchanged<Row extends StorageObject | null> {
  readonly outcome: 'unchanged'
  readonly row: Row
}

/** Returns the scope of a key's live rows, or `null` if there are none. */
export function scopeOf({ active, pending }: LiveRows): string | null {
  return active?.scope ?? pending?.scope ?? null
}

/** Returns what a key's live rows add to the usage of their scope. */
export function usageOf({ active, pending }: LiveRows): ScopeUsage {
  return usageOfKey(active, pending)
}

export function hasExpired(pending: StorageObject, now: Date): boolean {
  return pending.expiresAt !== null && pending.expiresAt <= now
}

/** Returns the leftover of a row that is no longer live, if it may have bytes or an upload in the bucket. */
export function leftoverOf(row: TrackedRow | null, now: Date): Leftover[] {
  if (row === null || (row.storageKey === null && row.uploadId === null)) return []
  const { attemptId, scope, bucket, key, storageKey, uploadId, writableUntil } = row
  return [{ attemptId, scope, bucket, key, storageKey, uploadId, since: now, writableUntil, dueAt: null }]
}

export function endOfAttempt(before: LiveRows, pending: TrackedRow, now: Date): KeyChange {
  const after: LiveRows = { active: before.active, pending: null }
  const leftovers = leftoverOf(pending, now)
  return { outcome: 'change', before, after, history: null, leftovers, event: null, row: pending }
}
