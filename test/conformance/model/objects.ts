import type { AdoptInput, AdoptResult, TransferInput, UpdateInput } from '../../../src/core/store/contract.js'
import type { ObjectMetadata, StorageObject } from '../../../src/core/store/records.js'
import * as types from '../field-types.js'
import { badFields } from '../input-checks.js'
import type { Expected } from '../outcome.js'
import { invalid, ok } from '../outcome.js'
import type { ModelRow } from './rows.js'
import { compareBytes, isAttempt, isForeign, isNamed, nameOf, recordOf, secondsAfter } from './rows.js'
import { UpkeepModel } from './upkeep.js'
import { refuseGrowth } from './usage.js'

/** The changes of active objects that need no upload. */
export class ObjectModel extends UpkeepModel {
  update(input: UpdateInput): Expected<StorageObject | null> {
    const bad = badFields('update', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const active = this.active(input)
    if (!active || isForeign(active, input.scope) || !isNamed(active, input.attemptId)) return ok(null)
    if (this.isGone(active)) return ok(null)
    const { temporarySeconds } = input
    const temporaryUntil =
      temporarySeconds === undefined
        ? active.temporaryUntil
        : temporarySeconds === null
          ? null
          : secondsAfter(this.now(), temporarySeconds)
    const { filename = active.filename, contentType = active.contentType } = input
    const { eTag = active.eTag } = input
    const metadata = metadataAfter(active, input)
    if (input.setMetadata && !types.orNull(types.metadata).isValid(metadata, this.now()))
      return invalid('setMetadata')
    const isSame =
      filename === active.filename &&
      contentType === active.contentType &&
      eTag === active.eTag &&
      temporaryUntil?.getTime() === active.temporaryUntil?.getTime() &&
      textOf(metadata) === textOf(active.metadata)
    if (isSame) return ok(recordOf(active))
    const changes = { filename, contentType, metadata, eTag, temporaryUntil }
    const row = { ...active, ...changes, updatedAt: this.now() }
    this.rows = this.rows.map((other) => (other === active ? row : other))
    this.record({ type: 'updated', object: recordOf(row), previous: recordOf(active) })
    return ok(recordOf(row))
  }

  transfer(input: TransferInput): Expected<StorageObject | null> {
    const bad = badFields('transfer', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const { from, to } = input
    const active = this.active(input)
    const pending = this.pending(input)
    const isFound =
      active && [from, to].includes(active.scope) && isNamed(active, input.attemptId) && !this.isGone(active)
    if (isFound && active.scope === to) return ok(recordOf(active))
    const isOfArrived = pending?.arrivedAt && pending.scope === from
    if (isOfArrived && (isFound || isAttempt(pending, input.attemptId))) return { error: 'KEY_CONFLICT' }
    if (!isFound) return ok(null)
    const row = { ...active, scope: to, updatedAt: this.now() }
    const rows = this.rows.flatMap((other) => (other === active ? [row] : other === pending ? [] : [other]))
    const refusal = refuseGrowth(this.rows, rows, to, input.quota, 'to')
    if (refusal) return refusal
    if (pending) this.leaveBehind(pending)
    this.rows = rows
    this.record({ type: 'transferred', object: recordOf(row), previous: recordOf(active) })
    return ok(recordOf(row))
  }

  adopt(input: AdoptInput): Expected<AdoptResult> {
    const bad = badFields('adopt', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const { scope, bucket, storageKey } = input
    const active = this.active(input)
    const pending = this.pending(input)
    const receiver = active?.scope === scope && active.storageKey === null ? active : undefined

    const isThese = (named: Pick<ModelRow, 'bucket' | 'key' | 'storageKey'>) =>
      named.bucket === bucket && nameOf(named) === storageKey
    const owner = this.rows
      .filter((row) => row.status !== 'deleted' && row !== receiver && isThese(row))
      .sort(
        (a, b) => Number(b.status === 'active') - Number(a.status === 'active') || compareBytes(a.key, b.key),
      )[0]
    if (owner) return ok({ object: recordOf(owner), known: true })
    if (this.leftovers.some(isThese)) return ok({ object: null, known: true })

    if (active && !receiver) return { error: 'KEY_CONFLICT' }
    if (pending && !this.hasExpired(pending)) return { error: 'KEY_CONFLICT' }
    const row = receiver ? { ...receiver, storageKey, updatedAt: this.now() } : this.#adopted(input)
    const rows = [...this.rows.filter((other) => other !== pending && other !== receiver), row]
    const refusal = refuseGrowth(this.rows, rows, scope, null, 'size')
    if (refusal) return refusal
    if (pending) this.leaveBehind(pending)
    this.rows = rows
    const object = recordOf(row)
    if (receiver) this.record({ type: 'updated', object, previous: recordOf(receiver) })
    else this.record({ type: 'activated', object, previous: null })
    return ok({ object: recordOf(row), known: false })
  }

  #adopted(input: AdoptInput): ModelRow {
    const { scope, bucket, key, storageKey, size, createdAt } = input
    const { route = null, filename = null, contentType = null, eTag = null, metadata = null } = input
    const now = this.now()
    return {
      ...{ id: this.madeId, attemptId: this.madeId, scope, bucket, key, status: 'active' },
      ...{ route, filename, contentType, size, declaredSize: null, eTag, metadata, storageKey },
      ...{ uploadId: null, expiresAt: null, createdAt, updatedAt: now, confirmedAt: now, deletedAt: null },
      ...{ temporaryUntil: null, arrivedAt: null, temporarySeconds: null, checkSeconds: null },
      // No URL was given out for these bytes.
      writableUntil: now,
    }
  }
}

/** Writes metadata as text that doesn't depend on the order of the names. */
function textOf(metadata: ObjectMetadata | null): string {
  return JSON.stringify(metadata && Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Returns the metadata of a row after an update. */
function metadataAfter(
  active: StorageObject,
  { metadata = active.metadata, setMetadata }: UpdateInput,
): ObjectMetadata | null {
  const changes = Object.entries(setMetadata ?? {})
  if (changes.length === 0) return metadata
  const kept = Object.entries(active.metadata ?? {}).filter(
    ([name]) => !changes.some(([other]) => other === name),
  )
  const left = [...kept, ...changes.filter(([, value]) => value !== null)]
  return left.length === 0 ? null : (Object.fromEntries(left) as ObjectMetadata)
}
