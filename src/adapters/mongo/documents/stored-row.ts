import type { TrackedRow } from '../../../core/store/lifecycle/change.js'
import type { StorageObject } from '../../../core/store/records.js'
import { long, readNumber } from '../connection/bson.js'

/** The fields of a row that its document doesn't already imply. Fields that would be `null` are left out. */
export interface StoredRow {
  readonly id: string
  readonly attemptId: string
  readonly route?: string
  readonly filename?: string
  readonly contentType?: string
  readonly size?: number
  readonly declaredSize?: number
  readonly eTag?: string
  /** Pairs, because MongoDB gives field names such as `$set`, `a.b` and the empty name a special meaning. */
  readonly metadata?: readonly { readonly name: string; readonly value: string }[]
  readonly storageKey?: string
  readonly uploadId?: string
  readonly expiresAt?: Date
  readonly writableUntil: Date
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly confirmedAt?: Date
}

/** Builds the stored form of a row. Deleted rows have no `writableUntil`. */
export function storedRow(row: StorageObject | TrackedRow): Readonly<Record<string, unknown>> {
  const fields: Record<keyof StoredRow, unknown> = {
    id: row.id,
    attemptId: row.attemptId,
    route: row.route,
    filename: row.filename,
    contentType: row.contentType,
    size: row.size === null ? null : long(row.size),
    declaredSize: row.declaredSize === null ? null : long(row.declaredSize),
    eTag: row.eTag,
    metadata: row.metadata && Object.entries(row.metadata).map(([name, value]) => ({ name, value })),
    storageKey: row.storageKey,
    uploadId: row.uploadId,
    expiresAt: row.expiresAt,
    writableUntil: 'writableUntil' in row ? row.writableUntil : null,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    confirmedAt: row.confirmedAt,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

/** The fields of a row that come from its document. */
type RowContext = Pick<StorageObject, 'scope' | 'bucket' | 'key' | 'status' | 'deletedAt'>

/** Returns a new record, which the caller may modify. */
export function readRow(
  row: StoredRow,
  { scope, bucket, key, status, deletedAt }: RowContext,
): StorageObject {
  return {
    id: row.id,
    attemptId: row.attemptId,
    scope,
    bucket,
    key,
    status,
    route: row.route ?? null,
    filename: row.filename ?? null,
    contentType: row.contentType ?? null,
    size: row.size === undefined ? null : readNumber(row.size),
    declaredSize: row.declaredSize === undefined ? null : readNumber(row.declaredSize),
    eTag: row.eTag ?? null,
    metadata: row.metadata ? Object.fromEntries(row.metadata.map(({ name, value }) => [name, value])) : null,
    storageKey: row.storageKey ?? null,
    uploadId: row.uploadId ?? null,
    expiresAt: row.expiresAt ?? null,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    confirmedAt: row.confirmedAt ?? null,
    deletedAt,
  }
}
