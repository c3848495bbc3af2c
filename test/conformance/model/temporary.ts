import type {
  EndTemporaryResult,
  KeepInput,
  EndTemporaryInput,
  ListArrivedInput,
  ListTemporaryInput,
  RejectInput,
} from '../../../src/core/store/contract.js'
import type { StorageObject } from '../../../src/core/store/records.js'
import { badFields } from '../input-checks.js'
import type { Expected } from '../outcome.js'
import { invalid, ok } from '../outcome.js'
import { ObjectModel } from './objects.js'
import type { ModelRow } from './rows.js'
import { compare, compareExpiry, DEFAULT_LIMIT, isForeign, isNamed, recordOf } from './rows.js'

/** No object is removed sooner than this after its end, in milliseconds. */
const GRACE = 60_000

/** Objects with an end, and attempts that wait for their check. */
export class TemporaryModel extends ObjectModel {
  keep(input: KeepInput): Expected<StorageObject[]> {
    const bad = badFields('keep', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const found = input.objects.map((object) => this.#kept(input.scope, object))
    const repeated = found.findIndex((row, index) => row && found.indexOf(row) < index)
    if (repeated !== -1) return invalid(`objects[${repeated}].id`)
    const missing = [...found.keys()].filter((index) => !found[index])
    if (missing.length > 0) return { error: 'OBJECT_NOT_FOUND', params: { missing: missing.join() } }
    return ok(found.map((row) => recordOf(this.#clearEnd(row!))))
  }

  listTemporary(input?: ListTemporaryInput): Expected<StorageObject[]> {
    const bad = badFields('listTemporary', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const { scope, after } = input ?? {}
    const before = input?.before ?? this.now()
    const order = (a: EndedRow, b: EndedRow) =>
      compare(a.temporaryUntil, b.temporaryUntil) || compare(a.id, b.id)
    const found = this.rows
      .filter(({ temporaryUntil }) => temporaryUntil !== null && temporaryUntil <= before)
      .filter((row) => !isForeign(row, scope) && (after == null || order(row, after) > 0))
      .sort(order)
    return ok(found.slice(0, input?.limit ?? DEFAULT_LIMIT).map(recordOf))
  }

  endTemporary(input: EndTemporaryInput): Expected<EndTemporaryResult> {
    const bad = badFields('endTemporary', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const removed = input.objects.flatMap((_, index) => this.endOne(input, index) ?? [])
    return ok({ removed, kept: input.objects.length - removed.length })
  }

  /** Ends one of the objects, or clears its end. Returns the row if it was removed. */
  endOne({ objects, keep, mode }: EndTemporaryInput, index: number): StorageObject | null {
    const { id, attemptId, temporaryUntil, ...reference } = objects[index]!
    const active = this.active(reference)
    if (active?.id !== id || active.attemptId !== attemptId) return null
    const end = active.temporaryUntil?.getTime()
    if (end === undefined || end !== temporaryUntil!.getTime()) return null
    if (keep?.some((kept) => kept === id || kept === attemptId)) this.#clearEnd(active)
    else if (end + GRACE <= this.now().getTime()) return this.removeActive(active, mode)
    return null
  }

  listArrived(input?: ListArrivedInput): Expected<StorageObject[]> {
    const bad = badFields('listArrived', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const { scope, dueBefore, after } = input ?? {}
    const found = this.rows
      .filter(({ arrivedAt, expiresAt }) => arrivedAt && (dueBefore == null || expiresAt! <= dueBefore))
      .filter((row) => !isForeign(row, scope) && (after == null || compareExpiry(row, after) > 0))
      .sort(compareExpiry)
    return ok(found.slice(0, input?.limit ?? DEFAULT_LIMIT).map(recordOf))
  }

  reject(input: RejectInput): Expected<StorageObject> {
    const bad = badFields('reject', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const { id, reason = null } = input
    const pending = this.pending(input)
    if (!pending?.arrivedAt || pending.id !== id || isForeign(pending, input.scope)) {
      return { error: 'OBJECT_NOT_FOUND' }
    }
    this.drop(pending)
    const { scope, bucket, key } = pending
    const others = this.rejections.filter((each) => each.id !== id)
    this.rejections = [...others, { id, scope, bucket, key, at: this.now(), reason }]
    this.record({ type: 'rejected', object: recordOf(pending), previous: null, reason })
    return ok(recordOf(pending))
  }

  /** Returns the row that an object of a keep names. */
  #kept(scope: string, { id, attemptId }: KeepInput['objects'][number]): ModelRow | undefined {
    const isOne = (row: ModelRow) =>
      row.scope === scope && [row.id, row.attemptId].includes(id) && isNamed(row, attemptId)
    return this.rows.find(
      (row) =>
        isOne(row) &&
        (row.status === 'active' ? !this.isGone(row) : row.status === 'pending' && row.arrivedAt),
    )
  }

  #clearEnd(before: ModelRow): ModelRow {
    const isTemporary = before.temporaryUntil !== null
    const row: ModelRow = {
      ...before,
      ...{ temporaryUntil: null, temporarySeconds: null },
      ...(isTemporary && { updatedAt: this.now() }),
    }
    this.rows = this.rows.map((other) => (other === before ? row : other))
    if (isTemporary) this.record({ type: 'updated', object: recordOf(row), previous: recordOf(before) })
    return row
  }
}

type EndedRow = Pick<StorageObject, 'id' | 'temporaryUntil'>
