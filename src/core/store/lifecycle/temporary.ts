import type * as driver from '../driver.js'
import type { RecordedChange } from '../events.js'
import { keyId } from '../../names.js'
import type { ObjectReference, StorageObject } from '../records.js'
import {
  hasArrived,
  isPastEnd,
  leftoverOf,
  UNCHANGED,
  type KeyChange,
  type LiveRows,
  type TrackedRow,
  type Unchanged,
} from './change.js'
import { removalOf } from './plans.js'

/** One object of `StoreDriver.keep`, at the key where the driver has found its row. */
export interface KeepOneCommand extends ObjectReference, driver.KeptObject {
  readonly scope: string
  readonly now: Date
}

/**
 * Returns the row of a key that an object of a `keep` names: the active one, or an arrived attempt. `null` if neither.
 *
 * @example
 * import { rowToKeep } from '@svc/db/adapter'
 *
 * const row = rowToKeep(live, { scope, id, attemptId: null, now: new Date() })
 */
export function rowToKeep(
  { active, pending }: LiveRows,
  { scope, id, attemptId, now }: Omit<KeepOneCommand, 'bucket' | 'key'>,
): TrackedRow | null {
  const isNamed = (row: TrackedRow) =>
    row.scope === scope &&
    (row.id === id || row.attemptId === id) &&
    (attemptId === null || row.attemptId === attemptId)
  if (active !== null && !isPastEnd(active, now) && isNamed(active)) return active
  return hasArrived(pending) && isNamed(pending) ? pending : null
}

/**
 * Returns why a `keep` must be refused, or `null`. `rows` are those that its objects name, in order.
 *
 * @example
 * import { refuseKeep } from '@svc/db/adapter'
 *
 * const refusal = refuseKeep([object, null])
 */
export function refuseKeep(
  rows: readonly (StorageObject | null)[],
): driver.RepeatedObject | driver.MissingObjects | null {
  const indices = new Map<string, number>()
  for (const [index, row] of rows.entries()) {
    if (row === null) continue
    const name = `${row.status} ${keyId(row)}`
    const earlier = indices.get(name)
    if (earlier !== undefined) return { outcome: 'repeated', index, earlier }
    indices.set(name, index)
  }
  const indexes = [...rows.keys()].filter((index) => rows[index] === null)
  return indexes.length > 0 ? { outcome: 'missing', indexes } : null
}

export function planKeepOne(
  before: LiveRows,
  command: KeepOneCommand,
): KeyChange | Unchanged<StorageObject | null> {
  const named = rowToKeep(before, command)
  if (named === null) return UNCHANGED
  if (named === before.active) {
    return named.temporaryUntil === null
      ? { outcome: 'unchanged', row: named }
      : keptForGood(before, named, command.now)
  }
  if (named.temporarySeconds === null) return { outcome: 'unchanged', row: named }
  const row: TrackedRow = { ...named, temporarySeconds: null }
  const after: LiveRows = { ...before, pending: row }
  return { outcome: 'change', before, after, history: null, leftovers: [], event: null, row }
}

/** One object of `StoreDriver.endTemporary`. */
export interface EndOneCommand
  extends driver.EndedObject, Pick<driver.EndTemporaryCommand, 'mode' | 'endedBy' | 'now'> {}

export function planEndOne(
  before: LiveRows,
  { id, attemptId, temporaryUntil, isKept, mode, endedBy, now }: EndOneCommand,
): KeyChange | Unchanged<null> {
  const { active, pending } = before
  if (active === null || active.id !== id || active.attemptId !== attemptId) return UNCHANGED
  // Only the very end that was read: meanwhile the object may have been kept, and made temporary again.
  if (active.temporaryUntil?.getTime() !== temporaryUntil.getTime()) return UNCHANGED
  if (isKept) return keptForGood(before, active, now)
  if (active.temporaryUntil > endedBy) return UNCHANGED
  const after: LiveRows = { active: null, pending }
  return { ...removalOf(active, mode, now), before, after, leftovers: leftoverOf(active, now) }
}

/** Clears the end of an active row. */
function keptForGood(before: LiveRows, active: TrackedRow, now: Date): KeyChange {
  const row: TrackedRow = { ...active, temporaryUntil: null, updatedAt: now }
  const after: LiveRows = { active: row, pending: before.pending }
  const event: RecordedChange = { type: 'updated', object: row, previous: active }
  return { outcome: 'change', before, after, history: null, leftovers: [], event, row }
}
