import type { TrackedRow } from '../../../core/store/lifecycle/change.js'
import type { StorageObject } from '../../../core/store/records.js'
import { long, readNumber } from '../connection/bson.js'

/** The fields of a row that come from its document. */
const IMPLIED = ['scope', 'bucket', 'key', 'status', 'deletedAt'] as const
type RowContext = Pick<StorageObject, (typeof IMPLIED)[number]>

const IMPLIED_NAMES: ReadonlySet<string> = new Set(IMPLIED)

type AlwaysSet = 'id' | 'attemptId' | 'writableUntil' | 'createdAt' | 'updatedAt'
type Fields = Omit<TrackedRow, keyof RowContext | 'metadata'>

/** The fields of a row that its document doesn't already imply. Fields that would be `null` are left out. */
export type StoredRow = Pick<Fields, AlwaysSet> & {
  readonly [Name in Exclude<keyof Fields, AlwaysSet>]?: NonNullable<Fields[Name]>
} & {
  /** Pairs, because MongoDB gives field names such as `$set`, `a.b` and the empty name a special meaning. */
  readonly metadata?: readonly { readonly name: string; readonly value: string }[]
  /** The `expiresAt` of an arrived attempt, under another name so that it is in no index of reservations. */
  readonly checkUntil?: Date
}

/** Builds the stored form of a row. Deleted rows have no `writableUntil`. */
export function storedRow(row: StorageObject | TrackedRow): Readonly<Record<string, unknown>> {
  const fields = {
    ...row,
    size: row.size === null ? null : long(row.size),
    declaredSize: row.declaredSize === null ? null : long(row.declaredSize),
    metadata: row.metadata && Object.entries(row.metadata).map(([name, value]) => ({ name, value })),
    ...(row.arrivedAt !== null && { expiresAt: null, checkUntil: row.expiresAt }),
  }
  const isStored = ([name, value]: readonly [string, unknown]) => value !== null && !IMPLIED_NAMES.has(name)
  return Object.fromEntries(Object.entries(fields).filter(isStored))
}

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
    expiresAt: row.expiresAt ?? row.checkUntil ?? null,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    confirmedAt: row.confirmedAt ?? null,
    deletedAt,
    temporaryUntil: row.temporaryUntil ?? null,
    arrivedAt: row.arrivedAt ?? null,
  }
}
