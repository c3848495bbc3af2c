import type {
  AdoptCommand,
  AdoptRefusal,
  KnownBytes,
  RemoveCommand,
  TransferCommand,
  TransferRefusal,
  UpdateCommand,
} from '../driver.js'
import type { RecordedChange } from '../events.js'
import type { ObjectMetadata, ScopeUsage, StorageObject } from '../records.js'
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

const UNCHANGED: Unchanged<null> = { outcome: 'unchanged', row: null }

/** Returns whether an adoption completes this row: an active row of the same scope and key that names no bytes of its own. */
export function receivesBytes(
  row: StorageObject,
  { scope, bucket, key }: Pick<AdoptCommand, 'scope' | 'bucket' | 'key'>,
): boolean {
  return (
    row.status === 'active' &&
    row.storageKey === null &&
    row.scope === scope &&
    row.bucket === bucket &&
    row.key === key
  )
}

/** Decides an adopt: see `StoreDriver.adopt`. `usage` is that of the new object's scope. `known`: see `WriteState`. */
export function planAdopt(
  before: LiveRows,
  usage: ScopeUsage,
  command: AdoptCommand,
  known: StorageObject | 'leftover' | null,
): KeyChange | Unchanged<StorageObject> | KnownBytes | AdoptRefusal {
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

/** Returns the active row of adopted bytes. No upload URL was given out for them, so nothing can write to them any more. */
function adoptedRow({ now, ...fields }: AdoptCommand): TrackedRow {
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

/** Decides an update: see `StoreDriver.update`. */
export function planUpdate(
  before: LiveRows,
  { scope, attemptId, changes, now }: UpdateCommand,
): KeyChange | Unchanged<StorageObject | null> {
  const { active, pending } = before
  if (active === null || (scope !== null && active.scope !== scope)) return UNCHANGED
  if (attemptId !== null && active.attemptId !== attemptId) return UNCHANGED
  const row: TrackedRow = { ...active, ...changes, updatedAt: now }
  if (sameDescription(active, row)) return { outcome: 'unchanged', row: active }
  const after: LiveRows = { active: row, pending }
  const event: RecordedChange = { type: 'updated', object: row, previous: active }
  return { outcome: 'change', before, after, history: null, leftovers: [], event, row }
}

function sameDescription(a: StorageObject, b: StorageObject): boolean {
  const fields = ['filename', 'contentType', 'eTag'] as const
  return fields.every((field) => a[field] === b[field]) && sameMetadata(a.metadata, b.metadata)
}

/** Compares names and values, in any order. */
function sameMetadata(a: ObjectMetadata | null, b: ObjectMetadata | null): boolean {
  if (a === null || b === null) return a === b
  const entries = Object.entries(a)
  if (entries.length !== Object.keys(b).length) return false
  return entries.every(([name, value]) => Object.hasOwn(b, name) && b[name] === value)
}

/** Decides a transfer: see `StoreDriver.transfer`. `usage` is that of the new owner. */
export function planTransfer(
  before: LiveRows,
  usage: ScopeUsage,
  { from, to, attemptId, quota, now }: TransferCommand,
): KeyChange | Unchanged<StorageObject | null> | TransferRefusal {
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

/** Decides a remove: see `StoreDriver.remove`. */
export function planRemove(
  before: LiveRows,
  { scope, attemptId, mode, now }: RemoveCommand,
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
