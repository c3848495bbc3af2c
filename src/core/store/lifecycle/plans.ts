import type * as driver from '../driver.js'
import type { RecordedChange } from '../events.js'
import type { ObjectReference, ScopeUsage, StorageObject } from '../records.js'
import { mergeMetadata, refuseExcess, sameMetadata } from './metadata.js'
import { NO_USAGE, refuseGrowth } from './usage.js'
import {
  endOfAttempt,
  hasExpired,
  leftoverOf,
  NOTHING_LIVE,
  scopeOf,
  usageOf,
  type KeyChange,
  type LiveRows,
  type TrackedRow,
  type Unchanged,
} from './change.js'

// Each plan decides the method of `StoreDriver` with its name. The order of refusals is part of that contract.
// `usage` is that of the scope that may grow.

const UNCHANGED: Unchanged<null> = { outcome: 'unchanged', row: null }

export function planReserve(
  before: LiveRows,
  usage: ScopeUsage,
  command: driver.ReserveCommand,
): KeyChange | Unchanged<StorageObject> | driver.ReserveRefusal {
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
export function attemptRow(command: driver.ReserveCommand): StorageObject {
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

export function planSetUploadId(
  before: LiveRows,
  { id, uploadId, now }: driver.SetUploadIdCommand,
): KeyChange | Unchanged<StorageObject> | driver.SetUploadIdRefusal {
  const { active, pending } = before
  if (pending?.id !== id) return { outcome: 'not-found' }
  if (pending.uploadId === uploadId) return { outcome: 'unchanged', row: pending }
  if (pending.uploadId !== null) return { outcome: 'other-upload' }
  const row: TrackedRow = { ...pending, uploadId, updatedAt: now }
  const after: LiveRows = { active, pending: row }
  return { outcome: 'change', before, after, history: null, leftovers: [], event: null, row }
}

export function planConfirm(
  before: LiveRows,
  usage: ScopeUsage,
  command: driver.ConfirmCommand,
): KeyChange | Unchanged<StorageObject> | driver.ConfirmRefusal {
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

function isRepeat(active: StorageObject, { id, size, eTag }: driver.ConfirmCommand): boolean {
  if (active.size !== size) return false
  if (id !== null) return active.attemptId === id && (eTag === null || active.eTag === eTag)
  return eTag !== null && active.eTag === eTag
}

export function planRelease(
  before: LiveRows,
  { id, scope, uploadId, now }: driver.ReleaseCommand,
): KeyChange | Unchanged<null> {
  const { pending } = before
  const named =
    pending !== null &&
    (id === null || pending.id === id) &&
    (scope === null || pending.scope === scope) &&
    (uploadId === null || pending.uploadId === uploadId)
  return named ? endOfAttempt(before, pending, now) : UNCHANGED
}

/** The purge of one reservation that `StoreDriver.purgeExpired` found. */
export interface PurgeCommand extends ObjectReference {
  readonly id: string
  readonly before: Date
  readonly now: Date
}

export function planPurge(live: LiveRows, { id, before, now }: PurgeCommand): KeyChange | Unchanged<null> {
  const { pending } = live
  return pending?.id === id && hasExpired(pending, before) ? endOfAttempt(live, pending, now) : UNCHANGED
}

/** Returns whether adopted bytes belong to this row: an active one of the same scope and key, without a storage key. */
export function receivesBytes(
  row: StorageObject,
  { scope, bucket, key }: Pick<driver.AdoptCommand, 'scope' | 'bucket' | 'key'>,
): boolean {
  return (
    row.status === 'active' &&
    row.storageKey === null &&
    row.scope === scope &&
    row.bucket === bucket &&
    row.key === key
  )
}

export function planAdopt(
  before: LiveRows,
  usage: ScopeUsage,
  command: driver.AdoptCommand,
  known: StorageObject | 'leftover' | null,
): KeyChange | Unchanged<StorageObject> | driver.KnownBytes | driver.AdoptRefusal {
  const { active, pending } = before
  const { now, storageKey } = command
  if (known === 'leftover') return { outcome: 'known', object: null }
  // A repeat of this command, whose first response was lost, still reports that it adopted the bytes.
  if (known?.id === command.id) return { outcome: 'unchanged', row: known }
  if (known !== null) return { outcome: 'known', object: known }
  if (active !== null && !receivesBytes(active, command)) return { outcome: 'key-conflict' }
  if (pending !== null && !hasExpired(pending, now)) return { outcome: 'key-conflict' }
  const row: TrackedRow = active ? { ...active, storageKey, updatedAt: now } : adoptedRow(command)
  const after: LiveRows = { active: row, pending: null }
  // The expired reservation may be another scope's. Its usage is then not part of the usage that grows.
  const removed = (active ?? pending)?.scope === command.scope ? usageOf(before) : NO_USAGE
  const refusal = refuseGrowth(usage, removed, usageOf(after), { maxBytes: null, maxFiles: null })
  if (refusal?.outcome === 'sum') return refusal
  const event: RecordedChange = active
    ? { type: 'updated', object: row, previous: active }
    : { type: 'activated', object: row, previous: null }
  const leftovers = leftoverOf(pending, now)
  return { outcome: 'change', before, after, history: null, leftovers, event, row }
}

/** No upload URL was given out for adopted bytes, so nothing can write to them any more. */
function adoptedRow({ now, ...fields }: driver.AdoptCommand): TrackedRow {
  return {
    ...fields,
    attemptId: fields.id,
    status: 'active',
    declaredSize: null,
    uploadId: null,
    expiresAt: null,
    updatedAt: now,
    confirmedAt: now,
    deletedAt: null,
    writableUntil: now,
  }
}

export function planUpdate(
  before: LiveRows,
  { scope, attemptId, setMetadata, changes, now }: driver.UpdateCommand,
): KeyChange | Unchanged<StorageObject | null> | driver.MetadataRefusal {
  const { active, pending } = before
  if (active === null || (scope !== null && active.scope !== scope)) return UNCHANGED
  if (attemptId !== null && active.attemptId !== attemptId) return UNCHANGED
  const merged = setMetadata && { metadata: mergeMetadata(active.metadata, setMetadata) }
  const refusal = merged && refuseExcess(merged.metadata)
  if (refusal) return refusal
  const row: TrackedRow = { ...active, ...changes, ...merged, updatedAt: now }
  if (sameDescription(active, row)) return { outcome: 'unchanged', row: active }
  const after: LiveRows = { active: row, pending }
  const event: RecordedChange = { type: 'updated', object: row, previous: active }
  return { outcome: 'change', before, after, history: null, leftovers: [], event, row }
}

function sameDescription(a: StorageObject, b: StorageObject): boolean {
  const fields = ['filename', 'contentType', 'eTag'] as const
  return fields.every((field) => a[field] === b[field]) && sameMetadata(a.metadata, b.metadata)
}

export function planTransfer(
  before: LiveRows,
  usage: ScopeUsage,
  { from, to, attemptId, quota, now }: driver.TransferCommand,
): KeyChange | Unchanged<StorageObject | null> | driver.TransferRefusal {
  const { active, pending } = before
  if (active === null || (active.scope !== from && active.scope !== to)) return UNCHANGED
  if (attemptId !== null && active.attemptId !== attemptId) return UNCHANGED
  if (active.scope === to) return { outcome: 'unchanged', row: active }
  const row: TrackedRow = { ...active, scope: to, updatedAt: now }
  const after: LiveRows = { active: row, pending: null }
  const refusal = refuseGrowth(usage, NO_USAGE, usageOf(after), quota)
  if (refusal) return refusal
  const leftovers = leftoverOf(pending, now)
  const event: RecordedChange = { type: 'transferred', object: row, previous: active }
  return { outcome: 'change', before, after, history: null, leftovers, event, row }
}

export function planRemove(
  before: LiveRows,
  { scope, attemptId, mode, now }: driver.RemoveCommand,
): KeyChange | Unchanged<null> {
  const { active, pending } = before
  if (scope !== null && scope !== scopeOf(before)) return UNCHANGED
  if (active === null || (attemptId !== null && active.attemptId !== attemptId)) {
    const named = pending !== null && (attemptId === null || pending.id === attemptId)
    return named ? endOfAttempt(before, pending, now) : UNCHANGED
  }
  const deleted: StorageObject = { ...active, status: 'deleted', updatedAt: now, deletedAt: now }
  const row = mode === 'soft' ? deleted : active
  const history = mode === 'soft' ? deleted : null
  const leftovers = [...leftoverOf(active, now), ...leftoverOf(pending, now)]
  const event: RecordedChange = { type: 'deleted', object: row, previous: null }
  return { outcome: 'change', before, after: NOTHING_LIVE, history, leftovers, event, row }
}
