import type { AdoptResult, EndTemporaryResult } from '../../../src/core/store/contract.js'
import type { ObjectReference, StorageObject } from '../../../src/core/store/records.js'
import type { Observed } from '../outcome.js'
import type { Call } from '../calls.js'
import { callModel } from '../calls.js'
import type { ReportedChange } from '../event-views.js'
import { outcomeDifference, difference } from '../difference.js'
import type { ModelRow } from '../model/rows.js'
import { compare, compareExpiry, recordOf } from '../model/rows.js'
import type { Notation } from '../notation.js'
import type { ReferenceModel } from '../reference-model.js'

/** A concurrent call. `started` and `ended` come from one counter, which orders them across all calls. */
export interface FinishedCall {
  readonly call: Call
  readonly outcome: Observed
  readonly started: number
  readonly ended: number
}

/** What was read after all calls. */
export interface FinalState {
  differenceFrom(model: ReferenceModel, notation: Notation): string | null
}

/** The progress of a call in a possible order. Calls that remove many rows take effect row by row, all others in one step. */
type Progress =
  | 'waiting'
  | 'done'
  | { readonly ids: readonly string[] }
  | { readonly rows: number }
  /** The objects that are left to end, by index. */
  | { readonly objects: readonly number[] }

interface Candidate {
  readonly model: ReferenceModel
  readonly progress: readonly Progress[]
}

/**
 * Searches an order of the calls in which the model has the same outcomes and the same final state. A call that ended
 * before another started must come first. Returns `null` if there is such an order, else the reason.
 */
export function whyNotInAnyOrder(
  start: ReferenceModel,
  calls: readonly FinishedCall[],
  final: FinalState,
  notation: Notation,
): string | null {
  // Different orders often reach the same state, which is explored once.
  const seen = new Set<string>()
  let reason = 'No order of these calls gives these results.'

  function explains({ model, progress }: Candidate): boolean {
    const point = fingerprint(model) + JSON.stringify(progress)
    if (seen.has(point)) return false
    seen.add(point)
    if (progress.every((each) => each === 'done')) {
      const found = final.differenceFrom(model, notation)
      if (found !== null) reason = `Some order gives these results, but not the final state: ${found}`
      return found === null
    }
    return calls.some((finished, index) => {
      if (!isNext(finished, calls, progress)) return false
      return movesOf(finished, progress[index]!, model, calls).some((move) =>
        explains({ model: move.model, progress: progress.with(index, move.progress) }),
      )
    })
  }

  return explains({ model: start, progress: calls.map(() => 'waiting') }) ? null : reason
}

interface Move {
  readonly model: ReferenceModel
  readonly progress: Progress
}

function isNext(
  finished: FinishedCall,
  calls: readonly FinishedCall[],
  progress: readonly Progress[],
): boolean {
  return calls.every((other, index) => other.ended > finished.started || progress[index] === 'done')
}

/** Returns the next steps of a call that are consistent with its outcome. */
function movesOf(
  finished: FinishedCall,
  progress: Progress,
  model: ReferenceModel,
  calls: readonly FinishedCall[],
): readonly Move[] {
  if (progress === 'done') return []
  if (typeof progress === 'object') {
    if ('objects' in progress) return endObject(finished, progress.objects, model, calls)
    return 'ids' in progress
      ? dropExpired(finished, progress.ids, model)
      : dropHistory(finished, progress.rows, model)
  }
  const { call, outcome } = finished
  if ('ok' in outcome && call.method === 'purgeExpired') return beginPurge(finished, model, calls)
  if ('ok' in outcome && call.method === 'purgeDeleted') return beginPurgeOfHistory(finished, model, calls)
  if ('ok' in outcome && call.method === 'endTemporary') return beginEnd(finished, model)

  const next = model.clone()
  if (call.method === 'reserve' && 'ok' in outcome) next.madeId = (outcome.ok as StorageObject).id
  if (call.method === 'adopt' && 'ok' in outcome) next.madeId = (outcome.ok as AdoptResult).object?.id ?? ''
  return outcomeDifference(callModel(next, call, outcome), outcome) === null
    ? [{ model: next, progress: 'done' }]
    : []
}

/** A purge may skip a row only while another call works on it. */
function beginPurge(finished: FinishedCall, model: ReferenceModel, calls: readonly FinishedCall[]): Move[] {
  const { call, outcome } = finished
  if (call.method !== 'purgeExpired' || !('ok' in outcome)) return []
  const purged = outcome.ok as StorageObject[]
  const limit = call.args[0]?.limit ?? 100
  if (purged.length > limit || !isSorted(purged)) return []
  const ids = purged.map(({ id }) => id)
  const due = model.expired(call.args[0])
  const skipped = due.filter((row, index) => {
    return !ids.includes(row.id) && index < limit && !isWorkedOn(row, finished, calls)
  })
  return skipped.length > 0 ? [] : [{ model, progress: ids.length > 0 ? { ids } : 'done' }]
}

function dropExpired({ call, outcome }: FinishedCall, ids: readonly string[], model: ReferenceModel): Move[] {
  if (call.method !== 'purgeExpired' || !('ok' in outcome)) return []
  const purged = outcome.ok as StorageObject[]
  return model.expired(call.args[0]).flatMap((row) => {
    if (!ids.includes(row.id)) return []
    const returned = purged.find(({ id }) => id === row.id)
    if (difference(recordOf(row), returned) !== null) return []
    const next = model.clone()
    next.drop(row)
    const rest = ids.filter((id) => id !== row.id)
    return [{ model: next, progress: rest.length > 0 ? { ids: rest } : ('done' as const) }]
  })
}

/** The same for history, where the result is only the number of rows. */
function beginPurgeOfHistory(
  finished: FinishedCall,
  model: ReferenceModel,
  calls: readonly FinishedCall[],
): Move[] {
  const { call, outcome } = finished
  if (call.method !== 'purgeDeleted' || !('ok' in outcome)) return []
  const [input] = call.args
  const { limit } = input
  const rows = outcome.ok as number
  if (rows > (limit ?? 100)) return []
  const certain = model.history(input).filter((row) => !isWorkedOn(row, finished, calls)).length
  if (rows < Math.min(certain, limit ?? 100)) return []
  const next = model.clone()
  next.forgetRejections(input)
  return [{ model: next, progress: rows > 0 ? { rows } : 'done' }]
}

function dropHistory({ call }: FinishedCall, rows: number, model: ReferenceModel): Move[] {
  if (call.method !== 'purgeDeleted') return []
  return model.history(call.args[0]).map((row) => {
    const next = model.clone()
    next.drop(row)
    return { model: next, progress: rows > 1 ? { rows: rows - 1 } : ('done' as const) }
  })
}

/** Removed objects are returned in the order in which they were given. */
function beginEnd({ call, outcome }: FinishedCall, model: ReferenceModel): Move[] {
  if (call.method !== 'endTemporary' || !('ok' in outcome)) return []
  const { objects } = call.args[0]
  const { removed, kept } = outcome.ok as EndTemporaryResult
  const order = removed.map((row) => objects.findIndex((object) => isAt(row, object)))
  const isInOrder = order.every((index, position) => index > (order[position - 1] ?? -1))
  if (!isInOrder || removed.length + kept !== objects.length) return []
  return [{ model, progress: { objects: [...objects.keys()] } }]
}

/** Ends any of the objects that are left, or passes over it, which a store may do only while another call works on it. */
function endObject(
  finished: FinishedCall,
  left: readonly number[],
  model: ReferenceModel,
  calls: readonly FinishedCall[],
): Move[] {
  const { call, outcome } = finished
  if (call.method !== 'endTemporary' || !('ok' in outcome)) return []
  const [input] = call.args
  const { removed } = outcome.ok as EndTemporaryResult
  return left.flatMap((index): Move[] => {
    const object = input.objects[index]!
    const returned = removed.find((row) => isAt(row, object)) ?? null
    const rest = left.filter((other) => other !== index)
    const progress = rest.length > 0 ? { objects: rest } : ('done' as const)
    const next = model.clone()
    const isSame = difference(next.endOne(input, index), returned) === null
    const isPassedOver = returned === null && isWorkedOn(object, finished, calls)
    return [...(isSame ? [{ model: next, progress }] : []), ...(isPassedOver ? [{ model, progress }] : [])]
  })
}

function isAt(a: ObjectReference, b: ObjectReference): boolean {
  return a.bucket === b.bucket && a.key === b.key
}

/** Returns whether an overlapping call writes or purges at the key of the row. */
function isWorkedOn(
  row: Pick<StorageObject, 'bucket' | 'key' | 'id' | 'attemptId'> & Partial<Pick<StorageObject, 'status'>>,
  finished: FinishedCall,
  calls: readonly FinishedCall[],
): boolean {
  return calls.some((other) => {
    if (other === finished || other.ended < finished.started || other.started > finished.ended) return false
    switch (other.call.method) {
      case 'reserve':
      case 'confirm':
      case 'setUploadId':
      case 'release':
      case 'remove':
      case 'update':
      case 'transfer':
      case 'adopt':
      case 'reject':
        return isAt(other.call.args[0], row)
      case 'endTemporary':
        return other.call.args[0].objects.some((object) => isAt(object, row))
      case 'keep':
        return other.call.args[0].objects.some(({ id }) => id === row.id || id === row.attemptId)
      case 'purgeExpired':
        return 'ok' in other.outcome && (other.outcome.ok as StorageObject[]).some(({ id }) => id === row.id)
      case 'purgeDeleted':
        return row.status === 'deleted'
      default:
        return false
    }
  })
}

function isSorted(rows: readonly StorageObject[]): boolean {
  return rows.every((row, index) => index === 0 || compareExpiry(rows[index - 1]!, row) < 0)
}

function fingerprint({ rows, leftovers, rejections, events }: ReferenceModel): string {
  const byId = (a: ModelRow, b: ModelRow) => (a.id < b.id ? -1 : 1)
  const byKey = (a: ReportedChange, b: ReportedChange) =>
    compare(a.object.bucket, b.object.bucket) || compare(a.object.key, b.object.key)
  return JSON.stringify([
    rows.toSorted(byId),
    leftovers.map(({ attemptId, dueAt }) => [attemptId, dueAt]).sort(),
    rejections.toSorted((a, b) => compare(a.id, b.id)),
    // Events of different objects have no order.
    events.map(({ change }) => change).toSorted(byKey),
  ])
}
