import { createAttemptId } from '../../core/store/attempt-id.js'
import { StorageError } from '../../core/errors.js'
import { scopeOf, usageOf, type LiveRows, type TrackedRow } from '../../core/store/lifecycle/change.js'
import { OBJECT_STATUSES, type ObjectReference, type StorageObject } from '../../core/store/records.js'
import { refuseGrowth } from '../../core/store/lifecycle/usage.js'
import {
  checkAttemptId,
  checkDate,
  checkObject,
  checkOneOf,
  checkSize,
  checkText,
  invalid,
  optional,
} from '../../core/store/validation/checks.js'
import { checkMetadata } from '../../core/store/validation/metadata.js'
import type { Tables } from './tables.js'

/** A seed record. The defaults make it an active object of 0 bytes, created now. */
export type SeedObject = ObjectReference & Pick<StorageObject, 'scope'> & Partial<StorageObject>

const DAY = 24 * 60 * 60 * 1000
const UNLIMITED = { maxBytes: null, maxFiles: null }

/** Adds seed records. @throws StorageError `VALIDATION_ERROR` if one is invalid or conflicts with another one. */
export function seed(tables: Tables, objects: readonly SeedObject[], now: Date): void {
  const ids = new Set<string>()
  objects.forEach((object, index) => {
    try {
      const row = seedRow(object, now)
      if (ids.has(row.id)) throw invalid('id', 'must be unique among the objects.')
      ids.add(row.id)
      insert(tables, row)
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      const { code, message, params } = error
      throw new StorageError(code, { message: `objects[${index}]: ${message}`, params })
    }
  })
}

function insert(tables: Tables, row: TrackedRow): void {
  if (row.status === 'deleted') return tables.addHistory(row)
  const before = tables.liveRows(row)
  if (before[row.status]) throw invalid('key', `must have at most one ${row.status} row.`)
  if (scopeOf(before) !== null && scopeOf(before) !== row.scope)
    throw invalid('key', 'must be live in one scope only.')
  const other = before.active ?? before.pending
  if (other?.attemptId === row.attemptId) {
    throw invalid('attemptId', 'must be unique among the rows of a key.')
  }
  if (other && row.storageKey !== null && other.storageKey === row.storageKey) {
    throw invalid('storageKey', 'must be unique among the rows of a key.')
  }
  const after: LiveRows = { ...before, [row.status]: row }
  if (refuseGrowth(tables.usage(row.scope), usageOf(before), usageOf(after), UNLIMITED)) {
    throw invalid('size', `must keep the bytes of the scope at or below ${Number.MAX_SAFE_INTEGER}.`)
  }
  tables.apply({ before, after, history: null, leftovers: [], event: null, row })
}

function seedRow(object: SeedObject, now: Date): TrackedRow {
  checkObject('objects', object)
  const status = optional(object.status, (value) => checkOneOf('status', value, OBJECT_STATUSES)) ?? 'active'
  const pending = status === 'pending'
  const date = (field: keyof StorageObject) => optional(object[field], (value) => checkDate(field, value))
  const text = (field: 'route' | 'filename' | 'contentType' | 'storageKey' | 'eTag' | 'uploadId') =>
    optional(object[field], (value) => checkText(field, value))
  const size = (field: 'size' | 'declaredSize') => optional(object[field], (value) => checkSize(field, value))
  const only = <T>(allowed: boolean, field: keyof StorageObject, value: T | null): T | null => {
    if (!allowed && value !== null)
      throw invalid(field, `must not be set on ${status === 'active' ? 'an' : 'a'} ${status} row.`)
    return value
  }

  const id =
    optional(object.id, (value) => checkAttemptId('id', value)) ?? createAttemptId({ now: () => now })
  const attemptId = optional(object.attemptId, (value) => checkAttemptId('attemptId', value)) ?? id
  if (pending && attemptId !== id) throw invalid('attemptId', 'must equal "id" on a pending row.')
  const createdAt = date('createdAt') ?? now
  const arrivedAt = only(pending, 'arrivedAt', date('arrivedAt'))
  const hasBytes = !pending || arrivedAt !== null
  if (arrivedAt !== null) {
    if (object.storageKey == null) throw invalid('storageKey', 'must be given together with arrivedAt.')
    if (object.uploadId != null) throw invalid('uploadId', 'must not be given together with arrivedAt.')
  }
  const expiresAt =
    only(pending, 'expiresAt', date('expiresAt')) ?? (pending ? new Date(now.getTime() + DAY) : null)
  const confirmedAt = only(!pending, 'confirmedAt', date('confirmedAt')) ?? (pending ? null : createdAt)
  const settledAt = confirmedAt ?? createdAt
  const deletedAt =
    only(status === 'deleted', 'deletedAt', date('deletedAt')) ?? (status === 'deleted' ? now : null)
  return {
    id,
    attemptId,
    scope: checkText('scope', object.scope),
    bucket: checkText('bucket', object.bucket),
    key: checkText('key', object.key),
    status,
    route: text('route'),
    filename: text('filename'),
    contentType: text('contentType'),
    size: only(hasBytes, 'size', size('size')) ?? (hasBytes ? 0 : null),
    declaredSize: only(pending, 'declaredSize', size('declaredSize')) ?? (pending ? 0 : null),
    eTag: only(hasBytes, 'eTag', text('eTag')),
    metadata: optional(object.metadata, checkMetadata),
    storageKey: text('storageKey'),
    uploadId: only(pending, 'uploadId', text('uploadId')),
    expiresAt,
    createdAt,
    updatedAt: date('updatedAt') ?? deletedAt ?? settledAt,
    confirmedAt,
    deletedAt,
    temporaryUntil: only(status === 'active', 'temporaryUntil', date('temporaryUntil')),
    arrivedAt,
    writableUntil: arrivedAt ?? expiresAt ?? settledAt,
    temporarySeconds: null,
    checkSeconds: null,
  }
}
