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
import { isAttempt, isForeign, isUpload, recordOf, recordOrNull } from './rows.js'
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
    if (active && input.overwrite === false) return CONFLICT

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
      writableUntil: input.expiresAt,
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
    if (isForeign(active ?? pending, input.scope)) return NOT_FOUND

    if (pending && isAttempt(pending, input.id)) return this.#activate(pending, active, input)
    if (!active || active.size !== input.size) return NOT_FOUND
    const sameETag = input.eTag != null && active.eTag === input.eTag
    const repeated =
      input.id == null ? sameETag : active.attemptId === input.id && (input.eTag == null || sameETag)
    return repeated ? ok(recordOf(active)) : NOT_FOUND
  }

  setUploadId(input: SetUploadIdInput): Expected<StorageObject> {
    const bad = badFields('setUploadId', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const pending = this.pending(input)
    if (!pending || pending.id !== input.id) return NOT_FOUND
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
    if (!active) return recordOrNull(pending)
    this.leaveBehind(active)
    const now = this.now()
    const history: ModelRow = { ...active, status: 'deleted', updatedAt: now, deletedAt: now }
    const hard = input.mode === 'hard'
    this.rows = this.rows.flatMap((row) => (row !== active ? [row] : hard ? [] : [history]))
    this.record({ type: 'deleted', object: recordOf(hard ? active : history), previous: null })
    return ok(recordOf(hard ? active : history))
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
