import type { TrackedRow } from '../../../core/store/lifecycle/change.js'
import type { StorageObject } from '../../../core/store/records.js'
import { long, readNumber } from '../connection/bson.js'

/** The fields of a row that come from its document. */
const IMPLIED = ['scope', 'bucket', 'key', 'status', 'deletedAt'] as const
type RowContext = Pick<StorageObject, (typeof IMPLIED)[number]>

const IMPLIED_NAMES: ReadonlySet<string> = new Set(IMPLIED)

/** In place of the date at which an arrived attempt lapses. In an index, documents come before dates, and no range of dates has them. */
export interface CheckDeadline {
  readonly checkUntil: Date
}

type AlwaysSet = 'id' | 'attemptId' | 'writableUntil' | 'createdAt' | 'updatedAt'
type Fields = Omit<TrackedRow, keyof RowContext | 'metadata'>

/** The fields of a row that its document doesn't already imply. Fields that would be `null` are left out. */
export type StoredRow = Pick<Fields, AlwaysSet> & {
  readonly [Name in Exclude<keyof Fields, AlwaysSet | 'expiresAt'>]?: NonNullable<Fields[Name]>
} & {
  readonly expiresAt?: Date | CheckDeadline
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
    ...(row.arrivedAt !== null && { expiresAt: { checkUntil: row.expiresAt } }),
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
    expiresAt: deadlineOf(row),
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    confirmedAt: row.confirmedAt ?? null,
    deletedAt,
    temporaryUntil: row.temporaryUntil ?? null,
    arrivedAt: row.arrivedAt ?? null,
  }
}

function deadlineOf({ expiresAt }: StoredRow): Date | null {
  if (expiresAt === undefined) return null
  return 'checkUntil' in expiresAt ? expiresAt.checkUntil : expiresAt
}
