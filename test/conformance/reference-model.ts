import type {
  Leftover,
  ObjectPage,
  ObjectReference,
  ScopeUsage,
  StorageObject,
} from '../../src/core/store/records.js'
import type {
  ConfirmInput,
  DeferLeftoverInput,
  FindInput,
  FindPendingInput,
  FindPendingMultipartInput,
  ForgetLeftoverInput,
  ListAllLeftoversInput,
  ListByScopeInput,
  ListDueLeftoversInput,
  ListExpiredInput,
  ListLeftoversInput,
  PurgeDeletedInput,
  PurgeExpiredInput,
  ReleaseInput,
  RemoveInput,
  ReserveInput,
  SetUploadIdInput,
} from '../../src/core/store/contract.js'
import type { Expected, Refusal } from './outcome.js'
import { invalid, ok } from './outcome.js'
import type { Model } from './calls.js'
import type { Contract } from './contract.js'
import { badFields } from './inputs.js'
import type { ModelRow } from './model-rows.js'
import {
  compare,
  compareDueLeftovers,
  compareExpiry,
  compareLeftovers,
  isAttempt,
  isForeign,
  isListed,
  isUpload,
  recordOf,
} from './model-rows.js'
import { refuseGrowth, usageOf } from './model-usage.js'

const DEFAULT_LIMIT = 100
const NOT_FOUND: Refusal = { error: 'OBJECT_NOT_FOUND' }
const CONFLICT: Refusal = { error: 'KEY_CONFLICT' }

/**
 * A plain implementation of the contract: an array of rows that every call scans. It shares no code with the library, so
 * a mistake in the library's rules can't hide here too.
 */
export class ReferenceModel implements Model {
  rows: readonly ModelRow[] = []
  leftovers: readonly Leftover[] = []
  /** The id for the next reserve without one. Set it from the store's result, which the model can't predict. */
  madeId = ''
  /** The cursors that the store returned, and the id of the last row before each. */
  readonly #cursors: Map<string, string>

  constructor(
    readonly now: () => Date,
    readonly contract: Contract = '1.6',
    cursors = new Map<string, string>(),
  ) {
    this.#cursors = cursors
  }

  clone(): ReferenceModel {
    const copy = new ReferenceModel(this.now, this.contract, this.#cursors)
    copy.rows = this.rows
    copy.leftovers = this.leftovers
    return copy
  }

  learnCursor(cursor: string, lastId: string): void {
    this.#cursors.set(cursor, lastId)
  }

  // Reads

  listByScope(input: ListByScopeInput): Expected<ObjectPage> {
    const bad = badFields('listByScope', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const position = input.cursor == null ? null : this.#cursors.get(input.cursor)
    if (position === undefined) return { error: 'INVALID_CURSOR' }
    const limit = input.limit ?? DEFAULT_LIMIT
    const found = this.rows
      .filter((row) => row.scope === input.scope && isListed(row, input.status))
      .filter((row) => input.route == null || row.route === input.route)
      .filter((row) => position === null || row.id < position)
      .sort((a, b) => compare(b.id, a.id))
    const withoutMetadata = (row: StorageObject) =>
      input.withMetadata === false ? { ...row, metadata: null } : row
    const objects = found.slice(0, limit).map(recordOf).map(withoutMetadata)
    return ok(found.length > limit ? { objects, nextCursor: 'another page' } : { objects })
  }

  countByScope(scope: string, status?: StorageObject['status'] | null): Expected<number> {
    const bad = badFields('countByScope', { scope, status }, this.now())
    if (bad.length > 0) return invalid(...bad)
    return ok(this.rows.filter((row) => row.scope === scope && isListed(row, status)).length)
  }

  getScopeUsage(scope: string): Expected<ScopeUsage> {
    const bad = badFields('getScopeUsage', { scope }, this.now())
    return bad.length > 0 ? invalid(...bad) : ok(usageOf(this.rows, scope))
  }

  find(input: FindInput): Expected<StorageObject | null> {
    const bad = badFields('find', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const deleted = this.#at(input, 'deleted').sort((a, b) => compare(b.id, a.id))
    return ownOrNull(this.#active(input) ?? this.#pending(input) ?? deleted[0], input.scope)
  }

  findActive(input: FindInput): Expected<StorageObject | null> {
    const bad = badFields('findActive', input, this.now())
    return bad.length > 0 ? invalid(...bad) : ownOrNull(this.#active(input), input.scope)
  }

  findPending(input: FindPendingInput): Expected<StorageObject | null> {
    const bad = badFields('findPending', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const pending = this.#pending(input)
    const isNamed = pending && isAttempt(pending, input.id) && isUpload(pending, input.uploadId)
    return ownOrNull(isNamed ? pending : undefined, input.scope)
  }

  findPendingMultipart(input: FindPendingMultipartInput): Expected<StorageObject | null> {
    const bad = badFields('findPendingMultipart', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const pending = this.#pending(input)
    const fits = pending && pending.uploadId !== null && pending.declaredSize === input.fileSize
    return recordOrNull(fits && !this.hasExpired(pending) ? pending : null)
  }

  // Writes

  reserve(input: ReserveInput): Expected<StorageObject> {
    const bad = badFields('reserve', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const active = this.#active(input)
    const pending = this.#pending(input)
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
    const refusal = refuseGrowth(this.rows, rows, input.scope, input.quota, 'declaredSize', this.contract)
    if (refusal) return refusal
    if (pending) this.#leaveBehind(pending)
    this.rows = rows
    return ok(recordOf(row))
  }

  confirm(input: ConfirmInput): Expected<StorageObject> {
    const bad = badFields('confirm', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const active = this.#active(input)
    const pending = this.#pending(input)
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
    const pending = this.#pending(input)
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
    const pending = this.#pending(input)
    if (!pending || isForeign(pending, input.scope)) return ok(null)
    if (!isAttempt(pending, input.id) || !isUpload(pending, input.uploadId)) return ok(null)
    this.drop(pending)
    return ok(recordOf(pending))
  }

  remove(input: RemoveInput): Expected<StorageObject | null> {
    const bad = badFields('remove', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const active = this.#active(input)
    const pending = this.#pending(input)
    if (isForeign(active ?? pending, input.scope)) return ok(null)
    if (input.attemptId != null && active?.attemptId !== input.attemptId) {
      if (pending?.id !== input.attemptId) return ok(null)
      this.drop(pending)
      return ok(recordOf(pending))
    }
    if (pending) this.drop(pending)
    if (!active) return recordOrNull(pending)
    this.#leaveBehind(active)
    const now = this.now()
    const history: ModelRow = { ...active, status: 'deleted', updatedAt: now, deletedAt: now }
    const hard = input.mode === 'hard'
    this.rows = this.rows.flatMap((row) => (row !== active ? [row] : hard ? [] : [history]))
    return ok(recordOf(hard ? active : history))
  }

  listExpired(input?: ListExpiredInput): Expected<StorageObject[]> {
    const bad = badFields('listExpired', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const after = input?.after
    const found = this.expired(input).filter((row) => after == null || compareExpiry(row, after) > 0)
    return ok(found.slice(0, input?.limit ?? DEFAULT_LIMIT).map(recordOf))
  }

  purgeExpired(input?: PurgeExpiredInput): Expected<StorageObject[]> {
    const bad = badFields('purgeExpired', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const dropped = this.expired(input).slice(0, input?.limit ?? DEFAULT_LIMIT)
    for (const row of dropped) this.drop(row)
    return ok(dropped.map(recordOf))
  }

  listLeftovers(input?: ListLeftoversInput): Expected<Leftover[]> {
    const bad = badFields('listLeftovers', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const found = this.leftovers.filter((each) => input?.scope == null || each.scope === input.scope)
    const listed = input?.dueBefore == null ? allAfter(found, input) : dueAfter(found, input)
    return ok(listed.slice(0, input?.limit ?? DEFAULT_LIMIT))
  }

  deferLeftover(input: DeferLeftoverInput): Expected<boolean> {
    const bad = badFields('deferLeftover', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const { attemptId, until } = input
    const isThere = this.leftovers.some((leftover) => leftover.attemptId === attemptId)
    this.leftovers = this.leftovers.map((each) =>
      each.attemptId === attemptId ? { ...each, dueAt: until } : each,
    )
    return ok(isThere)
  }

  forgetLeftover(input: ForgetLeftoverInput): Expected<boolean> {
    const bad = badFields('forgetLeftover', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const before = this.leftovers.length
    this.leftovers = this.leftovers.filter((leftover) => leftover.attemptId !== input.attemptId)
    return ok(this.leftovers.length < before)
  }

  purgeDeleted(input: PurgeDeletedInput): Expected<number> {
    const bad = badFields('purgeDeleted', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const dropped = this.history(input).slice(0, input.limit ?? DEFAULT_LIMIT)
    for (const row of dropped) this.drop(row)
    return ok(dropped.length)
  }

  // The single steps of purges, for the check of concurrent calls

  /** Returns the expired rows that a purge drops, earliest expiry first. */
  expired(input?: PurgeExpiredInput): ModelRow[] {
    const before = input?.before
    return this.rows
      .filter((row) => this.hasExpired(row) && !isForeign(row, input?.scope))
      .filter((row) => before == null || row.writableUntil <= before)
      .sort(compareExpiry)
  }

  /** Returns the history up to a date, oldest deletion first. */
  history({ before, scope }: PurgeDeletedInput): ModelRow[] {
    return this.rows
      .filter((row) => row.deletedAt !== null && row.deletedAt <= before && !isForeign(row, scope))
      .sort((a, b) => compare(a.deletedAt, b.deletedAt) || compare(a.id, b.id))
  }

  drop(row: ModelRow): void {
    this.rows = this.rows.filter((other) => other !== row)
    if (row.status === 'pending') this.#leaveBehind(row)
  }

  hasExpired(row: ModelRow): boolean {
    return row.status === 'pending' && row.writableUntil <= this.now()
  }

  #at({ bucket, key }: ObjectReference, status: StorageObject['status']): ModelRow[] {
    return this.rows.filter((row) => row.bucket === bucket && row.key === key && row.status === status)
  }

  #active(reference: ObjectReference): ModelRow | undefined {
    return this.#at(reference, 'active')[0]
  }

  #pending(reference: ObjectReference): ModelRow | undefined {
    return this.#at(reference, 'pending')[0]
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
    const refusal = refuseGrowth(this.rows, rows, row.scope, input.quota, 'size', this.contract)
    if (refusal) return refusal
    if (replaced) this.#leaveBehind(replaced)
    this.rows = rows
    return ok(recordOf(row))
  }

  /** Records the leftover of a row that ends or is replaced, unless it has neither a storage key nor an upload. */
  #leaveBehind(row: ModelRow): void {
    const { bucket, key, attemptId, storageKey, uploadId, writableUntil } = row
    if (storageKey === null && uploadId === null) return
    const scope = this.contract === '1.6' ? row.scope : null
    const reference = { attemptId, scope, bucket, key, storageKey, uploadId }
    this.leftovers = [...this.leftovers, { ...reference, since: this.now(), writableUntil, dueAt: null }]
  }
}

function allAfter(leftovers: readonly Leftover[], input: ListAllLeftoversInput | undefined): Leftover[] {
  const after = input?.after
  return leftovers
    .filter((leftover) => after == null || compareLeftovers(leftover, after) > 0)
    .sort(compareLeftovers)
}

function dueAfter(leftovers: readonly Leftover[], { dueBefore, after }: ListDueLeftoversInput): Leftover[] {
  return leftovers
    .filter(({ dueAt }) => dueAt === null || dueAt <= dueBefore)
    .filter((leftover) => after == null || compareDueLeftovers(leftover, after) > 0)
    .sort(compareDueLeftovers)
}

function ownOrNull(
  row: ModelRow | undefined,
  scope: string | null | undefined,
): Expected<StorageObject | null> {
  return recordOrNull(isForeign(row, scope) ? null : row)
}

function recordOrNull(row: ModelRow | null | undefined): Expected<StorageObject | null> {
  return ok(row ? recordOf(row) : null)
}
