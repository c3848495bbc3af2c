import { endOfPrefix, keyId, referenceOf } from '../../../core/names.js'
import { NOTHING_LIVE, type LiveRows, type TrackedRow } from '../../../core/store/lifecycle/change.js'
import type { Leftover, StorageObject } from '../../../core/store/records.js'
import { long, readNumber } from '../connection/bson.js'
import type { Stored } from '../connection/namespace.js'

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
}

/** Builds the stored form of a row. Deleted rows have no `writableUntil`. */
export function storedRow(row: StorageObject | TrackedRow): Readonly<Record<string, unknown>> {
  const fields = {
    ...row,
    size: row.size === null ? null : long(row.size),
    declaredSize: row.declaredSize === null ? null : long(row.declaredSize),
    metadata: row.metadata && Object.entries(row.metadata).map(([name, value]) => ({ name, value })),
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
    expiresAt: row.expiresAt ?? null,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    confirmedAt: row.confirmedAt ?? null,
    deletedAt,
  }
}

/** The live rows of a key. Its `_id` is the `keyId`, which differs from all scopes: these contain no NUL. */
export interface KeyDocument extends Stored {
  readonly scope: string
  readonly active?: StoredRow
  readonly pending?: StoredRow
}

/** Matches the `_id` of every key in a bucket, in the order of the keys. */
export function rangeOfBucket(bucket: string): { readonly $gt: string; readonly $lt: string } {
  const start = keyId({ bucket, key: '' })
  return { $gt: start, $lt: endOfPrefix(start) }
}

/** Builds the document that replaces the previous one; `null` if nothing is live. */
export function keyDocument({ active, pending }: LiveRows): Stored | null {
  const row = active ?? pending
  if (!row) return null
  return {
    _id: keyId(row),
    scope: row.scope,
    ...(active && { active: storedRow(active) }),
    ...(pending && { pending: storedRow(pending) }),
  }
}

export function liveRows(document: KeyDocument | null | undefined): LiveRows {
  if (!document) return NOTHING_LIVE
  return { active: trackedRow(document, 'active'), pending: trackedRow(document, 'pending') }
}

/** Returns the row of a status in the document of a key; `null` if there is none. */
export function rowOf(document: KeyDocument, status: 'active' | 'pending'): StorageObject | null {
  const row = document[status]
  if (!row) return null
  // The spread comes last: adding fields to a spread object is many times slower, and a page has up to 1,000 rows.
  return readRow(row, { scope: document.scope, status, deletedAt: null, ...referenceOf(document._id) })
}

function trackedRow(document: KeyDocument, status: 'active' | 'pending'): TrackedRow | null {
  const row = rowOf(document, status)
  return row && { ...row, writableUntil: document[status]!.writableUntil }
}

/** A deleted row. Its `_id` is the id of the row, and `at` that of its key. */
export interface HistoryDocument extends Stored {
  readonly scope: string
  readonly at: string
  readonly deletedAt: Date
  readonly row: StoredRow
}

export function historyDocument(row: StorageObject): Stored {
  return { _id: row.id, scope: row.scope, at: keyId(row), deletedAt: row.deletedAt, row: storedRow(row) }
}

export function readHistory({ at, scope, deletedAt, row }: HistoryDocument): StorageObject {
  return readRow(row, { scope, status: 'deleted', deletedAt, ...referenceOf(at) })
}

/** Bytes of an ended attempt that may still be in the bucket. `_id` is the attempt, and `at` the `_id` of its key. */
export interface LeftoverDocument extends Stored {
  readonly at: string
  /** Missing if version 1.5 recorded the leftover. */
  readonly scope?: string
  readonly storageKey?: string
  readonly uploadId?: string
  readonly since: Date
  readonly writableUntil: Date
  /** Missing until the leftover is put off. */
  readonly dueAt?: Date
}

export function leftoverDocument(leftover: Leftover): Stored {
  const { attemptId, scope, storageKey, uploadId, since, writableUntil, dueAt } = leftover
  return {
    _id: attemptId,
    at: keyId(leftover),
    ...(scope !== null && { scope }),
    ...(storageKey !== null && { storageKey }),
    ...(uploadId !== null && { uploadId }),
    since,
    writableUntil,
    ...(dueAt !== null && { dueAt }),
  }
}

export function readLeftover(document: LeftoverDocument): Leftover {
  const { _id, at, scope, storageKey, uploadId, since, writableUntil, dueAt } = document
  const owner = { attemptId: _id, scope: scope ?? null, ...referenceOf(at) }
  const bytes = { storageKey: storageKey ?? null, uploadId: uploadId ?? null }
  return { ...owner, ...bytes, since, writableUntil, dueAt: dueAt ?? null }
}
