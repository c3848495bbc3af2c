import type * as driver from '../driver.js'
import type { RecordedChange } from '../events.js'
import type { ObjectReference, ScopeUsage, StorageObject } from '../records.js'
import { mergeMetadata, refuseExcess, sameMetadata } from './metadata.js'
import { secondsAfter } from '../validation/checks.js'
import { NO_USAGE, refuseGrowth } from './usage.js'
import {
  endOfAttempt,
  hasArrived,
  hasExpired,
  isPastEnd,
  leftoverOf,
  NOTHING_LIVE,
  scopeOf,
  UNCHANGED,
  usageOf,
  type KeyChange,
  type LiveRows,
  type TrackedRow,
  type Unchanged,
} from './change.js'

// Each plan decides the method of `StoreDriver` with its name. The order of refusals is part of that contract.
// `usage` is that of the scope that may grow.

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
  if (!overwrite && (active !== null || hasArrived(pending))) return { outcome: 'key-conflict' }

  const { expiresAt: writableUntil, temporarySeconds, checkSeconds } = command
  // A spread of so many fields takes 12 microseconds, and makes each later one slower.
  const row: TrackedRow = Object.assign(attemptRow(command), {
    writableUntil,
    temporarySeconds,
    checkSeconds,
  })
  const after: LiveRows = { active, pending: row }
  const refusal = refuseGrowth(usage, mine ? usageOf(before) : NO_USAGE, usageOf(after), quota)
  if (refusal) return refusal
  const leftovers = leftoverOf(pending, now)
  return { outcome: 'change', before, after, history: null, leftovers, event: null, row }
}

/**
 * Returns the pending row of a new attempt. It depends on the command only, not on the rows at the key.
 *
 * @example
 * import { attemptRow, type ReserveCommand } from '@svc/db/adapter'
 *
 * const rowOf = (command: ReserveCommand) => attemptRow(command)
 */
export function attemptRow(command: driver.ReserveCommand): StorageObject {
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
    temporaryUntil: null,
    arrivedAt: null,
  }
}

export function planSetUploadId(
  before: LiveRows,
  { id, uploadId, now }: driver.SetUploadIdCommand,
): KeyChange | Unchanged<StorageObject> | driver.SetUploadIdRefusal {
  const { active, pending } = before
  if (pending?.id !== id || hasArrived(pending)) return { outcome: 'not-found' }
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
  const { id, scope, accept } = command
  if (scope !== null && scope !== scopeOf(before)) return { outcome: 'not-found' }
  const isArrived = hasArrived(pending)
  if (accept && isArrived && matches(pending, command)) return activation(before, pending, command)
  if (pending === null || isArrived || accept || (id !== null && pending.id !== id)) {
    const repeated = [isArrived && !accept ? pending : null, active].find(
      (row) => row && matches(row, command),
    )
    return repeated ? { outcome: 'unchanged', row: repeated } : { outcome: 'not-found' }
  }
  const { checkSeconds } = pending
  const change =
    checkSeconds === null
      ? activation(before, pending, command)
      : arrival(before, pending, checkSeconds, command)
  return refuseGrowth(usage, usageOf(before), usageOf(change.after), command.quota) ?? change
}

/** Returns whether a confirm that names no attempt in progress repeats the one that led to this row. */
function matches(row: StorageObject, { id, size, eTag }: driver.ConfirmCommand): boolean {
  if (row.size !== size) return false
  if (id !== null) return row.attemptId === id && (eTag === null || row.eTag === eTag)
  return eTag !== null && row.eTag === eTag
}

function activation(
  before: LiveRows,
  pending: TrackedRow,
  { size, eTag, contentType, now }: driver.ConfirmCommand,
): KeyChange {
  const { active } = before
  const { temporarySeconds } = pending
  // A replacement never gives an end to an object that stays.
  const isTemporary = temporarySeconds !== null && (active === null || active.temporaryUntil !== null)
  const row: TrackedRow = {
    ...pending,
    // A replacement keeps id and creation time, so the object keeps its position in every list.
    id: active?.id ?? pending.id,
    createdAt: active?.createdAt ?? pending.createdAt,
    status: 'active',
    size,
    eTag: eTag ?? pending.eTag,
    contentType: contentType ?? pending.contentType,
    declaredSize: null,
    uploadId: null,
    expiresAt: null,
    updatedAt: now,
    confirmedAt: now,
    temporaryUntil: isTemporary ? secondsAfter(now, temporarySeconds) : null,
    arrivedAt: null,
    temporarySeconds: null,
    checkSeconds: null,
  }
  const after: LiveRows = { active: row, pending: null }
  const leftovers = leftoverOf(active, now)
  const event: RecordedChange = { type: 'activated', object: row, previous: active }
  return { outcome: 'change', before, after, history: null, leftovers, event, row }
}

function arrival(
  before: LiveRows,
  pending: TrackedRow,
  checkSeconds: number,
  { size, eTag, contentType, now }: driver.ConfirmCommand,
): KeyChange {
  const { active } = before
  const row: TrackedRow = {
    ...pending,
    size,
    eTag,
    contentType: contentType ?? pending.contentType,
    uploadId: null,
    expiresAt: secondsAfter(now, checkSeconds),
    updatedAt: now,
    arrivedAt: now,
  }
  const after: LiveRows = { active, pending: row }
  const event: RecordedChange = { type: 'arrived', object: row, previous: active }
  return { outcome: 'change', before, after, history: null, leftovers: [], event, row }
}

export function planRelease(
  before: LiveRows,
  { id, scope, uploadId, unlessArrived = false, now }: driver.ReleaseCommand,
): KeyChange | Unchanged<null> {
  const { pending } = before
  const named =
    pending !== null &&
    (id === null || pending.id === id) &&
    (scope === null || pending.scope === scope) &&
    (uploadId === null || pending.uploadId === uploadId) &&
    !(unlessArrived && hasArrived(pending))
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

/**
 * Returns whether adopted bytes belong to this row: an active one of the same scope and key, without a storage key.
 *
 * @example
 * import { receivesBytes, type AdoptCommand } from '@svc/db/adapter'
 *
 * const isReceiver = (command: AdoptCommand) => receivesBytes(object, command)
 */
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
    temporaryUntil: null,
    arrivedAt: null,
    writableUntil: now,
    temporarySeconds: null,
    checkSeconds: null,
  }
}

export function planUpdate(
  before: LiveRows,
  { scope, attemptId, setMetadata, changes, now }: driver.UpdateCommand,
): KeyChange | Unchanged<StorageObject | null> | driver.MetadataRefusal {
  const { active, pending } = before
  if (active === null || (scope !== null && active.scope !== scope)) return UNCHANGED
  if (isPastEnd(active, now) || (attemptId !== null && active.attemptId !== attemptId)) return UNCHANGED
  const { temporarySeconds, ...described } = changes
  const merged = setMetadata && { metadata: mergeMetadata(active.metadata, setMetadata) }
  const refusal = merged && refuseExcess(merged.metadata)
  if (refusal) return refusal
  const row: TrackedRow = {
    ...active,
    ...described,
    ...merged,
    ...endFrom(now, temporarySeconds),
    updatedAt: now,
  }
  if (sameDescription(active, row)) return { outcome: 'unchanged', row: active }
  const after: LiveRows = { active: row, pending }
  const event: RecordedChange = { type: 'updated', object: row, previous: active }
  return { outcome: 'change', before, after, history: null, leftovers: [], event, row }
}

/** Returns the end that an update sets: `null` clears it, and `undefined` sets none. */
function endFrom(
  now: Date,
  seconds: number | null | undefined,
): Partial<Pick<StorageObject, 'temporaryUntil'>> {
  if (seconds === undefined) return {}
  return { temporaryUntil: seconds === null ? null : secondsAfter(now, seconds) }
}

function sameDescription(a: StorageObject, b: StorageObject): boolean {
  const fields = ['filename', 'contentType', 'eTag'] as const
  return (
    fields.every((field) => a[field] === b[field]) &&
    a.temporaryUntil?.getTime() === b.temporaryUntil?.getTime() &&
    sameMetadata(a.metadata, b.metadata)
  )
}

export function planTransfer(
  before: LiveRows,
  usage: ScopeUsage,
  { from, to, attemptId, quota, now }: driver.TransferCommand,
): KeyChange | Unchanged<StorageObject | null> | driver.TransferRefusal {
  const { active, pending } = before
  const isFound =
    active !== null &&
    (active.scope === from || active.scope === to) &&
    !isPastEnd(active, now) &&
    (attemptId === null || active.attemptId === attemptId)
  if (isFound && active.scope === to) return { outcome: 'unchanged', row: active }
  if (hasArrived(pending) && pending.scope === from) {
    if (isFound || attemptId === null || attemptId === pending.id) return { outcome: 'key-conflict' }
  }
  if (!isFound) return UNCHANGED
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
  const leftovers = [...leftoverOf(active, now), ...leftoverOf(pending, now)]
  return { ...removalOf(active, mode, now), before, after: NOTHING_LIVE, leftovers }
}

/** Returns the part of a removal that does not depend on the pending row. */
export function removalOf(
  active: TrackedRow,
  mode: 'soft' | 'hard',
  now: Date,
): Pick<KeyChange, 'outcome' | 'history' | 'event' | 'row'> {
  const deleted = { status: 'deleted', updatedAt: now, deletedAt: now, temporaryUntil: null } as const
  const row: StorageObject = mode === 'soft' ? { ...active, ...deleted } : active
  const event: RecordedChange = { type: 'deleted', object: row, previous: null }
  return { outcome: 'change', history: mode === 'soft' ? row : null, event, row }
}
