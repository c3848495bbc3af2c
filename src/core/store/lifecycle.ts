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
 * The rules of every write, as plain functions from what is at a key to what shall be there. They know no database;
 * an adapter reads the rows of the key, asks here, and writes the change in one atomic step.
 */

/** A row with what only the store needs to know of it. */
export interface TrackedRow extends StorageObject {
  /** The `expiresAt` that its attempt was reserved with: until then a URL may still write to its `storageKey`. */
  readonly writableUntil: Date
}

/** The live rows of one key; both are of one scope. */
export interface LiveRows {
  readonly active: TrackedRow | null
  readonly pending: TrackedRow | null
}

export const NOTHING_LIVE: LiveRows = { active: null, pending: null }

/** What a write does to a key. The scope of `before` may be another one than that of `after` (a lapsed reservation taken over). */
export interface KeyChange {
  readonly outcome: 'change'
  readonly before: LiveRows
  readonly after: LiveRows
  /** The row that becomes history. */
  readonly history: StorageObject | null
  readonly leftovers: readonly Leftover[]
  /** What the call answers. */
  readonly row: StorageObject
}

/** Nothing is written; the call answers this row. */
interface Unchanged<Row extends StorageObject | null> {
  readonly outcome: 'unchanged'
  readonly row: Row
}

export function scopeOf({ active, pending }: LiveRows): string | null {
  return active?.scope ?? pending?.scope ?? null
}

export function usageOf({ active, pending }: LiveRows): ScopeUsage {
  return usageOfKey(active, pending)
}

export function hasLapsed(pending: StorageObject, now: Date): boolean {
  return pending.expiresAt !== null && pending.expiresAt <= now
}

/** What lies in the bucket of a row that is about to go or to be replaced; none where nothing of its own lies there. */
function leftoverOf(row: TrackedRow | null, now: Date): Leftover[] {
  if (row === null || (row.storageKey === null && row.uploadId === null)) return []
  const { attemptId, bucket, key, storageKey, uploadId, writableUntil } = row
  return [{ attemptId, bucket, key, storageKey, uploadId, since: now, writableUntil }]
}

/** The lowest bar first: whose key it is, then whether the attempt is new, then whether it may overwrite. */
export function planReserve(
  before: LiveRows,
  usage: ScopeUsage,
  command: ReserveCommand,
): KeyChange | Unchanged<StorageObject> | ReserveRefusal {
  const { active, pending } = before
  const { now, overwrite, quota } = command
  const mine = scopeOf(before) === null || scopeOf(before) === command.scope
  if (!mine && (active !== null || (pending !== null && !hasLapsed(pending, now))))
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

/** The row that an attempt begins as; nothing in it depends on what was there before. */
export function attemptRow(command: ReserveCommand): StorageObject {
  // Named one by one: made with a spread, this row takes longer than all else that is done for it here.
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
    // A replacement keeps the place of what it replaces, so an object that stays active stays where it is in every list.
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

/** Whether a confirm that finds no pending row of its own was done before, by this attempt or, without id, with these bytes. */
function isRepeat(active: StorageObject, { id, size, eTag }: ConfirmCommand): boolean {
  if (active.size !== size) return false
  if (id !== null) return active.attemptId === id && (eTag === null || active.eTag === eTag)
  return eTag !== null && active.eTag === eTag
}

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

/** The pending row goes; what it put in the bucket is remembered. */
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

export function planRemove(
  before: LiveRows,
  { scope, mode, now }: RemoveCommand,
): KeyChange | Unchanged<null> {
  const { active, pending } = before
  if (scope !== null && scope !== scopeOf(before)) return { outcome: 'unchanged', row: null }
  if (active === null)
    return pending ? endOfAttempt(before, pending, now) : { outcome: 'unchanged', row: null }
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

/** A reservation that is still there and has lapsed by `before` is dropped. */
export function planPurge(rows: LiveRows, id: string, before: Date, now: Date): KeyChange | Unchanged<null> {
  const { pending } = rows
  return pending?.id === id && hasLapsed(pending, before)
    ? endOfAttempt(rows, pending, now)
    : { outcome: 'unchanged', row: null }
}
