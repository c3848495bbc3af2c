import type { StorageObject } from '../../../src/core/store/records.js'
import type { Observed } from '../answer.js'
import type { Call } from '../calls.js'
import { askModel } from '../calls.js'
import { answerDifference, difference } from '../difference.js'
import type { ModelRow } from '../model-rows.js'
import { compareExpiry, recordOf } from '../model-rows.js'
import type { Notation } from '../notation.js'
import type { ReferenceModel } from '../reference-model.js'
import type { Snapshot } from '../views.js'

/** A call that ran beside others, and when: numbers from one count, so that of two moments one is the earlier. */
export interface Happened {
  readonly call: Call
  readonly answer: Observed
  readonly started: number
  readonly ended: number
}

/** How far a call is in a supposed order: most take effect in one step, purges row by row. */
type Progress = 'waiting' | 'done' | { readonly ids: readonly string[] } | { readonly rows: number }

interface Supposed {
  readonly model: ReferenceModel
  readonly progress: readonly Progress[]
}

/**
 * Why no order of the calls explains their answers and the state that they left, or `null` if one does. An order must
 * keep a call that ended before another one started in front of it.
 */
export function whyNotInAnyOrder(
  start: ReferenceModel,
  calls: readonly Happened[],
  final: Snapshot,
  notation: Notation,
): string | null {
  // Different orders often come to the same; each such point is looked at once.
  const seen = new Set<string>()
  let reason = 'No order of these calls gives these answers.'

  function explains({ model, progress }: Supposed): boolean {
    const point = fingerprint(model) + JSON.stringify(progress)
    if (seen.has(point)) return false
    seen.add(point)
    if (progress.every((each) => each === 'done')) {
      const found = final.differenceFrom(model, notation)
      if (found !== null)
        reason = `Some order gives these answers, but none also the state after it: ${found}`
      return found === null
    }
    return calls.some((happened, index) => {
      if (!isNext(happened, calls, progress)) return false
      return movesOf(happened, progress[index]!, model, calls).some((move) =>
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

function isNext(happened: Happened, calls: readonly Happened[], progress: readonly Progress[]): boolean {
  return calls.every((other, index) => other.ended > happened.started || progress[index] === 'done')
}

/** What the call can do next, if it is to come to the answer that it gave. */
function movesOf(
  happened: Happened,
  progress: Progress,
  model: ReferenceModel,
  calls: readonly Happened[],
): readonly Move[] {
  if (progress === 'done') return []
  if (typeof progress === 'object') {
    return 'ids' in progress
      ? dropLapsed(happened, progress.ids, model)
      : dropHistory(happened, progress.rows, model)
  }
  const { call, answer } = happened
  if ('ok' in answer && call.method === 'purgeExpired') return beginPurge(happened, model, calls)
  if ('ok' in answer && call.method === 'purgeDeleted') return beginPurgeOfHistory(happened, model, calls)

  const next = model.clone()
  if (call.method === 'reserve' && 'ok' in answer) next.madeId = (answer.ok as StorageObject).id
  return answerDifference(askModel(next, call), answer) === null ? [{ model: next, progress: 'done' }] : []
}

/** A purge may leave a row to the next one while another call works on it, and only then. */
function beginPurge(happened: Happened, model: ReferenceModel, calls: readonly Happened[]): Move[] {
  const { call, answer } = happened
  if (call.method !== 'purgeExpired' || !('ok' in answer)) return []
  const purged = answer.ok as StorageObject[]
  const limit = call.args[0]?.limit ?? 100
  if (purged.length > limit || !isSorted(purged)) return []
  const ids = purged.map(({ id }) => id)
  const due = model.lapsed(call.args[0])
  const unexcused = due.filter((row, index) => {
    const passedOver = !ids.includes(row.id)
    return passedOver && index < limit && !isWorkedOn(row, happened, calls)
  })
  return unexcused.length > 0 ? [] : [{ model, progress: ids.length > 0 ? { ids } : 'done' }]
}

function dropLapsed({ call, answer }: Happened, ids: readonly string[], model: ReferenceModel): Move[] {
  if (call.method !== 'purgeExpired' || !('ok' in answer)) return []
  const purged = answer.ok as StorageObject[]
  return model.lapsed(call.args[0]).flatMap((row) => {
    if (!ids.includes(row.id)) return []
    const told = purged.find(({ id }) => id === row.id)
    if (difference(recordOf(row), told) !== null) return []
    const next = model.clone()
    next.drop(row)
    const rest = ids.filter((id) => id !== row.id)
    return [{ model: next, progress: rest.length > 0 ? { ids: rest } : ('done' as const) }]
  })
}

/** The same for history, of which the answer tells only how many rows went. */
function beginPurgeOfHistory(happened: Happened, model: ReferenceModel, calls: readonly Happened[]): Move[] {
  const { call, answer } = happened
  if (call.method !== 'purgeDeleted' || !('ok' in answer)) return []
  const { before, limit } = call.args[0]
  const rows = answer.ok as number
  if (rows > (limit ?? 100)) return []
  const certain = model.history(before).filter((row) => !isWorkedOn(row, happened, calls)).length
  if (rows < Math.min(certain, limit ?? 100)) return []
  return [{ model, progress: rows > 0 ? { rows } : 'done' }]
}

function dropHistory({ call }: Happened, rows: number, model: ReferenceModel): Move[] {
  if (call.method !== 'purgeDeleted') return []
  return model.history(call.args[0].before).map((row) => {
    const next = model.clone()
    next.drop(row)
    return { model: next, progress: rows > 1 ? { rows: rows - 1 } : ('done' as const) }
  })
}

/** Whether a call that ran at the same time writes, or purges, where the row is. */
function isWorkedOn(row: ModelRow, happened: Happened, calls: readonly Happened[]): boolean {
  return calls.some((other) => {
    if (other === happened || other.ended < happened.started || other.started > happened.ended) return false
    switch (other.call.method) {
      case 'reserve':
      case 'confirm':
      case 'setUploadId':
      case 'release':
      case 'remove':
        return other.call.args[0].bucket === row.bucket && other.call.args[0].key === row.key
      case 'purgeExpired':
        return 'ok' in other.answer && (other.answer.ok as StorageObject[]).some(({ id }) => id === row.id)
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

function fingerprint({ rows, leftovers }: ReferenceModel): string {
  const byId = (a: ModelRow, b: ModelRow) => (a.id < b.id ? -1 : 1)
  return JSON.stringify([rows.toSorted(byId), leftovers.map(({ attemptId }) => attemptId).sort()])
}
