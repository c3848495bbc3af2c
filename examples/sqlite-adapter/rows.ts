import type { Leftover, ObjectMetadata, StorageObject, TrackedRow } from '@svc/db/adapter'

type DateField = 'expiresAt' | 'createdAt' | 'updatedAt' | 'confirmedAt' | 'deletedAt'

/** A record as SQLite stores it, and as events keep it in JSON. */
export type StoredObject = Omit<StorageObject, DateField | 'metadata'> & {
  readonly expiresAt: number | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly confirmedAt: number | null
  readonly deletedAt: number | null
  readonly metadata: string | null
}
export type StoredLeftover = Omit<Leftover, 'since' | 'writableUntil' | 'dueAt'> & {
  readonly since: number
  readonly writableUntil: number
  readonly dueAt: number
}

/** Sorts before every date, and SQLite can compare it, unlike NULL. */
export const NEVER = Number.MIN_SAFE_INTEGER

const FIELDS =
  `id attemptId scope bucket key status route filename contentType size declaredSize eTag storageKey uploadId
  expiresAt createdAt updatedAt confirmedAt deletedAt`.split(/\s+/)

export const WITHOUT_METADATA = `${FIELDS.join(', ')}, NULL AS metadata`
export const OBJECT = `${FIELDS.join(', ')}, metadata`
export const TRACKED = `${OBJECT}, writableUntil`
export const INSERT_OBJECT = `INSERT ${into('objects', [...FIELDS, 'metadata', 'writableUntil'])}`

const LEFTOVER_FIELDS = 'attemptId scope bucket key storageKey uploadId since writableUntil dueAt'.split(' ')
export const LEFTOVER = LEFTOVER_FIELDS.join(', ')
export const INSERT_LEFTOVER = `INSERT OR REPLACE ${into('leftovers', LEFTOVER_FIELDS)}`

function into(table: string, fields: readonly string[]): string {
  return `INTO ${table} (${fields.join(', ')}) VALUES (${fields.map((field) => `:${field}`).join(', ')})`
}

/** Returns the columns of a record. Leaves out `writableUntil`, which callers must not see. */
export function toStored(row: StorageObject): StoredObject {
  const { id, attemptId, scope, bucket, key, status, route, filename, contentType, size, declaredSize } = row
  const { eTag, storageKey, uploadId } = row
  return {
    ...{ id, attemptId, scope, bucket, key, status, route, filename, contentType, size, declaredSize },
    ...{ eTag, storageKey, uploadId },
    expiresAt: row.expiresAt?.getTime() ?? null,
    createdAt: row.createdAt.getTime(),
    updatedAt: row.updatedAt.getTime(),
    confirmedAt: row.confirmedAt?.getTime() ?? null,
    deletedAt: row.deletedAt?.getTime() ?? null,
    metadata: row.metadata && JSON.stringify(row.metadata),
  }
}

export function toObject(row: StoredObject): StorageObject {
  return {
    ...row,
    expiresAt: toDate(row.expiresAt),
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
    confirmedAt: toDate(row.confirmedAt),
    deletedAt: toDate(row.deletedAt),
    metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as ObjectMetadata),
  }
}

export function toTracked(row: StoredObject & { readonly writableUntil: number }): TrackedRow {
  return { ...toObject(row), writableUntil: new Date(row.writableUntil) }
}

export function toStoredLeftover(leftover: Leftover): StoredLeftover {
  const { attemptId, scope, bucket, key, storageKey, uploadId, since, writableUntil, dueAt } = leftover
  return {
    ...{ attemptId, scope, bucket, key, storageKey, uploadId },
    since: since.getTime(),
    writableUntil: writableUntil.getTime(),
    dueAt: dueAt?.getTime() ?? NEVER,
  }
}

export function toLeftover(row: StoredLeftover): Leftover {
  return {
    ...row,
    since: new Date(row.since),
    writableUntil: new Date(row.writableUntil),
    dueAt: row.dueAt === NEVER ? null : new Date(row.dueAt),
  }
}

function toDate(milliseconds: number | null): Date | null {
  return milliseconds === null ? null : new Date(milliseconds)
}
