import type { StorageObject } from '../../../src/core/store/records.js'
import type {
  ConfirmInput,
  ReleaseInput,
  RemoveInput,
  ReserveInput,
  SetUploadIdInput,
} from '../../../src/core/store/contract.js'
import { badFields } from '../input-checks.js'
import type { Expected, Refusal } from '../outcome.js'
import { invalid, ok } from '../outcome.js'
import { ReadModel } from './reads.js'
import type { ModelRow } from './rows.js'
import { isAttempt, isForeign, isUpload, recordOf, recordOrNull, secondsAfter } from './rows.js'
import { refuseGrowth } from './usage.js'

const NOT_FOUND: Refusal = { error: 'OBJECT_NOT_FOUND' }
const CONFLICT: Refusal = { error: 'KEY_CONFLICT' }

/** The life of an upload, from its reservation to the removal of the object. */
export class UploadModel extends ReadModel {
  reserve(input: ReserveInput): Expected<StorageObject> {
    const bad = badFields('reserve', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const active = this.active(input)
    const pending = this.pending(input)
    if (pending && pending.scope === input.scope && pending.id === input.id) return ok(recordOf(pending))

    if (active && active.scope !== input.scope) return CONFLICT
    if (pending && pending.scope !== input.scope && !this.hasExpired(pending)) return CONFLICT
    const live = [active, pending].filter((row) => row !== undefined)
    if (live.some((row) => row.id === input.id || row.attemptId === input.id)) return invalid('id')
    if (input.storageKey != null && live.some((row) => row.storageKey === input.storageKey)) {
      return invalid('storageKey')
    }
    if ((active ?? pending?.arrivedAt) && input.overwrite === false) return CONFLICT

    const now = this.now()
    const id = input.id ?? this.madeId
    const row: ModelRow = {
      id,
      attemptId: id,
      scope: input.scope,
      bucket: input.bucket,
      key: input.key,
      status: 'pending',
      route: input.route ?? null,
      filename: input.filename ?? null,
      contentType: input.contentType ?? null,
      size: null,
      declaredSize: input.declaredSize,
      eTag: null,
      metadata: input.metadata ?? null,
      storageKey: input.storageKey ?? null,
      uploadId: input.uploadId ?? null,
      expiresAt: input.expiresAt,
      createdAt: now,
      updatedAt: now,
      confirmedAt: null,
      deletedAt: null,
      temporaryUntil: null,
      arrivedAt: null,
      writableUntil: input.expiresAt,
      temporarySeconds: input.temporarySeconds ?? null,
      checkSeconds: input.checkSeconds ?? null,
    }
    const rows = [...this.rows.filter((other) => other !== pending), row]
    const refusal = refuseGrowth(this.rows, rows, input.scope, input.quota, 'declaredSize')
    if (refusal) return refusal
    if (pending) this.leaveBehind(pending)
    this.rows = rows
    return ok(recordOf(row))
  }

  confirm(input: ConfirmInput): Expected<StorageObject> {
    const bad = badFields('confirm', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const active = this.active(input)
    const pending = this.pending(input)
    if (isForeign(active ?? pending, input.scope)) return this.#refusedConfirm(input)

    const arrived = pending?.arrivedAt ? pending : undefined
    if (input.accept && arrived && isMatch(arrived, input)) {
      // What an attempt of this size needs, it has reserved on arrival.
      return this.#activate(arrived, active, { ...input, eTag: input.eTag ?? arrived.eTag, quota: null })
    }
    if (!input.accept && pending && !arrived && isAttempt(pending, input.id)) {
      return pending.checkSeconds === null
        ? this.#activate(pending, active, input)
        : this.#arrive(pending, pending.checkSeconds, input)
    }
    if (!input.accept && arrived && isMatch(arrived, input)) return ok(recordOf(arrived))
    return active && isMatch(active, input) ? ok(recordOf(active)) : this.#refusedConfirm(input)
  }

  setUploadId(input: SetUploadIdInput): Expected<StorageObject> {
    const bad = badFields('setUploadId', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const pending = this.pending(input)
    if (!pending || pending.arrivedAt || pending.id !== input.id) return NOT_FOUND
    if (pending.uploadId === input.uploadId) return ok(recordOf(pending))
    if (pending.uploadId !== null) return invalid('uploadId')
    const row = { ...pending, uploadId: input.uploadId, updatedAt: this.now() }
    this.rows = this.rows.map((other) => (other === pending ? row : other))
    return ok(recordOf(row))
  }

  release(input: ReleaseInput): Expected<StorageObject | null> {
    const bad = badFields('release', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const pending = this.pending(input)
    if (!pending || isForeign(pending, input.scope)) return ok(null)
    if (!isAttempt(pending, input.id) || !isUpload(pending, input.uploadId)) return ok(null)
    if (input.unlessArrived && pending.arrivedAt !== null) return ok(null)
    this.drop(pending)
    return ok(recordOf(pending))
  }

  remove(input: RemoveInput): Expected<StorageObject | null> {
    const bad = badFields('remove', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const active = this.active(input)
    const pending = this.pending(input)
    if (isForeign(active ?? pending, input.scope)) return ok(null)
    if (input.attemptId != null && active?.attemptId !== input.attemptId) {
      if (pending?.id !== input.attemptId) return ok(null)
      this.drop(pending)
      return ok(recordOf(pending))
    }
    if (pending) this.drop(pending)
    return active ? ok(this.removeActive(active, input.mode)) : recordOrNull(pending)
  }

  #refusedConfirm({ bucket, key, id, scope, accept }: ConfirmInput): Refusal {
    const now = this.now()
    const found = this.rejections.find((each) => each.id === id && each.bucket === bucket && each.key === key)
    if (!found || accept || (scope != null && scope !== found.scope)) return NOT_FOUND
    if (secondsAfter(found.at, 3600) <= now) return NOT_FOUND
    return { error: 'UPLOAD_REJECTED', params: found.reason === null ? {} : { reason: found.reason } }
  }

  #arrive(pending: ModelRow, checkSeconds: number, input: ConfirmInput): Expected<StorageObject> {
    const now = this.now()
    const row: ModelRow = {
      ...pending,
      ...{ size: input.size, eTag: input.eTag ?? null, uploadId: null, arrivedAt: now, updatedAt: now },
      contentType: input.contentType ?? pending.contentType,
      expiresAt: secondsAfter(now, checkSeconds),
    }
    const rows = this.rows.map((other) => (other === pending ? row : other))
    const refusal = refuseGrowth(this.rows, rows, row.scope, input.quota, 'size')
    if (refusal) return refusal
    this.rows = rows
    const active = this.active(row)
    this.record({ type: 'arrived', object: recordOf(row), previous: active ? recordOf(active) : null })
    return ok(recordOf(row))
  }

  #activate(pending: ModelRow, replaced: ModelRow | undefined, input: ConfirmInput): Expected<StorageObject> {
    const now = this.now()
    const row: ModelRow = {
      ...pending,
      id: replaced?.id ?? pending.id,
      createdAt: replaced?.createdAt ?? pending.createdAt,
      status: 'active',
      size: input.size,
      declaredSize: null,
      eTag: input.eTag ?? null,
      contentType: input.contentType ?? pending.contentType,
      uploadId: null,
      expiresAt: null,
      updatedAt: now,
      confirmedAt: now,
      temporaryUntil:
        pending.temporarySeconds === null || (replaced && replaced.temporaryUntil === null)
          ? null
          : secondsAfter(now, pending.temporarySeconds),
      ...{ arrivedAt: null, temporarySeconds: null, checkSeconds: null },
    }
    const rows = [...this.rows.filter((other) => other !== pending && other !== replaced), row]
    const refusal = refuseGrowth(this.rows, rows, row.scope, input.quota, 'size')
    if (refusal) return refusal
    if (replaced) this.leaveBehind(replaced)
    this.rows = rows
    this.record({ type: 'activated', object: recordOf(row), previous: replaced ? recordOf(replaced) : null })
    return ok(recordOf(row))
  }
}

/** Returns whether a confirm may be a repeat of the one that led to this row, or accept it. */
function isMatch(row: ModelRow, { id, size, eTag }: ConfirmInput): boolean {
  if (row.size !== size) return false
  const sameETag = eTag != null && row.eTag === eTag
  return id == null ? sameETag : row.attemptId === id && (eTag == null || sameETag)
}
