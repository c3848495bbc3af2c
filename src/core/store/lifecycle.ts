import type { Leftover, ScopeUsage, StorageObject } from './records.js'
import type {
  ConfirmCommand,
  ConfirmRefusal,
  ReleaseCommand,
  RemoveCommand,
  ReserveCommand,
  ReserveRefusal,
  SetUploadIdCommand,
} from './driver.js'
import { NO_USAGE, refuseGrowth, usageOfKey } from './usage.js'

/**
 * The rules of every write as pure functions: from the rows at a key, the usage of the scope and the command to the change
 * to make. An adapter reads the rows, calls the function and writes the change, all in one atomic step.
 */

/** A row with the field that only drivers need. */
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

/** A change of one key. `before` and `after` have different scopes if the write takes over another scope's expired reservation. */
export interface KeyChange {
  readonly outcome: 'change'
  readonly before: LiveRows
  readonly after: LiveRows
  /** The row to store as history. */
  readonly history: StorageObject | null
  readonly leftovers: readonly Leftover[]
  /** The row to return. */
  readonly row: StorageObject
}

/** Nothing to write; the call returns this row. */
interface Unchanged<Row extends StorageObject | null> {
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

/** Returns whether a reservation has expired. */
export function hasExpired(pending: StorageObject, now: Date): boolean {
  return pending.expiresAt !== null && pending.expiresAt <= now
}

/** Returns the leftover of a row that is no longer live, if it may have bytes or an upload in the bucket. */
function leftoverOf(row: TrackedRow | null, now: Date): Leftover[] {
  if (row === null || (row.storageKey === null && row.uploadId === null)) return []
  const { attemptId, scope, bucket, key, storageKey, uploadId, writableUntil } = row
  return [{ attemptId, scope, bucket, key, storageKey, uploadId, since: now, writableUntil, dueAt: null }]
}

/** Decides a reserve. The order of refusals is part of the contract: see `StoreDriver.reserve`. */
export function planReserve(
  before: LiveRows,
  usage: ScopeUsage,
  command: ReserveCommand,
): KeyChange | Unchanged<StorageObject> | ReserveRefusal {
  const { active, pending } = before
  const { now, overwrite, quota } = command
  const mine = scopeOf(before) === null || scopeOf(before) === command.scope
  if (!mine && (active !== null || (pending !== null && !hasExpired(pending, now))))
    return { outcome: 'key-conflict' }
  if (mine && pending?.id === command.id) return { outcome: 'unchanged', row: pending }
  if ([active?.id, active?.attemptId, pending?.id].includes(command.id))
    return { outcome: 'reused', field: 'id' }
  if (command.storageKey !== null && [active?.storageKey, pending?.storageKey].includes(command.storageKey)) {
    return { outcome: 'reused', field: 'storageKey' }
  }
  if (active !== null && !overwrite) return { outcome: 'key-conflict' }

  const row: TrackedRow = { ...attemptRow(command), writableUntil: command.expiresAt }
  const after: LiveRows = { active, pending: row }
  const refusal = refuseGrowth(usage, mine ? usageOf(before) : NO_USAGE, usageOf(after), quota)
  return (
    refusal ?? { outcome: 'change', before, after, history: null, leftovers: leftoverOf(pending, now), row }
  )
}

/** Returns the pending row of a new attempt. It depends on the command only, not on the rows at the key. */
export function attemptRow(command: ReserveCommand): StorageObject {
  // A spread would take longer than the rest of a reserve.
  return {
    id: command.id,
    attemptId: command.id,
    scope: command.scope,
    bucket: command.bucket,
    key: command.key,
    status: 'pending',
    route: command.route,
    filename: command.filename,
    contentType: command.contentType,
    size: null,
    declaredSize: command.declaredSize,
    eTag: null,
    metadata: command.metadata,
    storageKey: command.storageKey,
    uploadId: command.uploadId,
    expiresAt: command.expiresAt,
    createdAt: command.now,
    updatedAt: new Date(command.now),
    confirmedAt: null,
    deletedAt: null,
  }
}

/** Decides a confirm: see `StoreDriver.confirm`. */
export function planConfirm(
  before: LiveRows,
  usage: ScopeUsage,
  command: ConfirmCommand,
): KeyChange | Unchanged<StorageObject> | ConfirmRefusal {
  const { active, pending } = before
  const { id, scope, size, eTag, contentType, quota, now } = command
  if (scope !== null && scope !== scopeOf(before)) return { outcome: 'not-found' }
  if (pending === null || (id !== null && pending.id !== id)) {
    return active !== null && isRepeat(active, command)
      ? { outcome: 'unchanged', row: active }
      : { outcome: 'not-found' }
  }
  const row: TrackedRow = {
    ...pending,
    // A replacement keeps id and creation time, so the object keeps its position in every list.
    id: active?.id ?? pending.id,
    createdAt: active?.createdAt ?? pending.createdAt,
    status: 'active',
    size,
    eTag,
    contentType: contentType ?? pending.contentType,
    declaredSize: null,
    uploadId: null,
    expiresAt: null,
    updatedAt: now,
    confirmedAt: now,
  }
  const after: LiveRows = { active: row, pending: null }
  const refusal = refuseGrowth(usage, usageOf(before), usageOf(after), quota)
  return (
    refusal ?? { outcome: 'change', before, after, history: null, leftovers: leftoverOf(active, now), row }
  )
}

/** Returns whether the active row is the result of an earlier call of this confirm. */
function isRepeat(active: StorageObject, { id, size, eTag }: ConfirmCommand): boolean {
  if (active.size !== size) return false
  if (id !== null) return active.attemptId === id && (eTag === null || active.eTag === eTag)
  return eTag !== null && active.eTag === eTag
}

/** Decides a setUploadId: see `StoreDriver.setUploadId`. */
export function planSetUploadId(
  before: LiveRows,
  { id, uploadId, now }: SetUploadIdCommand,
):
  | KeyChange
  | Unchanged<StorageObject>
  | { readonly outcome: 'not-found' }
  | { readonly outcome: 'other-upload' } {
  const { active, pending } = before
  if (pending?.id !== id) return { outcome: 'not-found' }
  if (pending.uploadId === uploadId) return { outcome: 'unchanged', row: pending }
  if (pending.uploadId !== null) return { outcome: 'other-upload' }
  const row: TrackedRow = { ...pending, uploadId, updatedAt: now }
  return { outcome: 'change', before, after: { active, pending: row }, history: null, leftovers: [], row }
}

/** Decides a release: see `StoreDriver.release`. */
export function planRelease(
  before: LiveRows,
  { id, scope, uploadId, now }: ReleaseCommand,
): KeyChange | Unchanged<null> {
  const { pending } = before
  const named =
    pending !== null &&
    (id === null || pending.id === id) &&
    (scope === null || pending.scope === scope) &&
    (uploadId === null || pending.uploadId === uploadId)
  return named ? endOfAttempt(before, pending, now) : { outcome: 'unchanged', row: null }
}

/** Deletes the pending row and records its leftover. */
function endOfAttempt(before: LiveRows, pending: TrackedRow, now: Date): KeyChange {
  const after: LiveRows = { active: before.active, pending: null }
  return {
    outcome: 'change',
    before,
    after,
    history: null,
    leftovers: leftoverOf(pending, now),
    row: pending,
  }
}

/** Decides a remove: see `StoreDriver.remove`. */
export function planRemove(
  before: LiveRows,
  { scope, attemptId, mode, now }: RemoveCommand,
): KeyChange | Unchanged<null> {
  const { active, pending } = before
  if (scope !== null && scope !== scopeOf(before)) return { outcome: 'unchanged', row: null }
  if (active === null || (attemptId !== null && active.attemptId !== attemptId)) {
    const named = pending !== null && (attemptId === null || pending.id === attemptId)
    return named ? endOfAttempt(before, pending, now) : { outcome: 'unchanged', row: null }
  }
  const deleted: StorageObject = { ...active, status: 'deleted', updatedAt: now, deletedAt: now }
  return {
    outcome: 'change',
    before,
    after: NOTHING_LIVE,
    history: mode === 'soft' ? deleted : null,
    leftovers: [...leftoverOf(active, now), ...leftoverOf(pending, now)],
    row: mode === 'soft' ? deleted : active,
  }
}

/** Decides the purge of one reservation: it is deleted if it still exists and expired by `before`. */
export function planPurge(rows: LiveRows, id: string, before: Date, now: Date): KeyChange | Unchanged<null> {
  const { pending } = rows
  return pending?.id === id && hasExpired(pending, before)
    ? endOfAttempt(rows, pending, now)
    : { outcome: 'unchanged', row: null }
}
