import type {
  ConfirmCommand,
  ConfirmRefusal,
  ReleaseCommand,
  ReserveCommand,
  ReserveRefusal,
  SetUploadIdCommand,
  SetUploadIdRefusal,
} from '../driver.js'
import type { RecordedChange } from '../events.js'
import type { ObjectReference, ScopeUsage, StorageObject } from '../records.js'
import { NO_USAGE, refuseGrowth } from './usage.js'
import {
  endOfAttempt,
  hasExpired,
  leftoverOf,
  scopeOf,
  usageOf,
  type KeyChange,
  type LiveRows,
  type TrackedRow,
  type Unchanged,
} from './change.js'

/**
 * Decides a reserve. `usage` is that of the command's scope. The order of refusals is part of the contract: see
 * `StoreDriver.reserve`.
 */
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
  if ([active?.id, active?.attemptId, pending?.id].includes(command.id)) return { outcome: 'reused-id' }
  if (command.storageKey !== null && [active?.storageKey, pending?.storageKey].includes(command.storageKey)) {
    return { outcome: 'reused-storage-key' }
  }
  if (active !== null && !overwrite) return { outcome: 'key-conflict' }

  const row: TrackedRow = { ...attemptRow(command), writableUntil: command.expiresAt }
  const after: LiveRows = { active, pending: row }
  const refusal = refuseGrowth(usage, mine ? usageOf(before) : NO_USAGE, usageOf(after), quota)
  if (refusal) return refusal
  const leftovers = leftoverOf(pending, now)
  return { outcome: 'change', before, after, history: null, leftovers, event: null, row }
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

/** Decides a setUploadId: see `StoreDriver.setUploadId`. */
export function planSetUploadId(
  before: LiveRows,
  { id, uploadId, now }: SetUploadIdCommand,
): KeyChange | Unchanged<StorageObject> | SetUploadIdRefusal {
  const { active, pending } = before
  if (pending?.id !== id) return { outcome: 'not-found' }
  if (pending.uploadId === uploadId) return { outcome: 'unchanged', row: pending }
  if (pending.uploadId !== null) return { outcome: 'other-upload' }
  const row: TrackedRow = { ...pending, uploadId, updatedAt: now }
  const after: LiveRows = { active, pending: row }
  return { outcome: 'change', before, after, history: null, leftovers: [], event: null, row }
}

/** Decides a confirm: see `StoreDriver.confirm`. `usage` is that of the scope of the live rows; without any, it is not read. */
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
  if (refusal) return refusal
  const leftovers = leftoverOf(active, now)
  const event: RecordedChange = { type: 'activated', object: row, previous: active }
  return { outcome: 'change', before, after, history: null, leftovers, event, row }
}

/** Returns whether the active row is the result of an earlier call of this confirm. */
function isRepeat(active: StorageObject, { id, size, eTag }: ConfirmCommand): boolean {
  if (active.size !== size) return false
  if (id !== null) return active.attemptId === id && (eTag === null || active.eTag === eTag)
  return eTag !== null && active.eTag === eTag
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

/** The purge of one reservation that `StoreDriver.purgeExpired` found. */
export interface PurgeCommand extends ObjectReference {
  readonly id: string
  readonly before: Date
  readonly now: Date
}

/** Decides the purge of a reservation: it is deleted if it still exists and has expired by `before`. */
export function planPurge(live: LiveRows, { id, before, now }: PurgeCommand): KeyChange | Unchanged<null> {
  const { pending } = live
  return pending?.id === id && hasExpired(pending, before)
    ? endOfAttempt(live, pending, now)
    : { outcome: 'unchanged', row: null }
}
