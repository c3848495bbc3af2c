import type { Leftover, StorageObject } from '../../src/core/store/records.js'

/** A row with what the store keeps beside it: until when a URL of its attempt can write. */
export type ModelRow = StorageObject & { readonly writableUntil: Date }

/** A row without what only the store knows. */
export function recordOf({ writableUntil: _, ...record }: ModelRow): StorageObject {
  return record
}

/** Whether a list of this status shows the row; without one, lists show pending and active rows. */
export function isListed(row: ModelRow, status: StorageObject['status'] | null | undefined): boolean {
  return status == null ? row.status !== 'deleted' : row.status === status
}

/** Whether a scope was named and the row is another's. */
export function isForeign(row: ModelRow | undefined, scope: string | null | undefined): boolean {
  return row !== undefined && scope != null && row.scope !== scope
}

export function isAttempt(row: ModelRow, id: string | null | undefined): boolean {
  return id == null || row.id === id
}

export function isUpload(row: ModelRow, uploadId: string | null | undefined): boolean {
  return uploadId == null || row.uploadId === uploadId
}

export function compare<T extends string | Date | null>(a: T, b: T): number {
  return a! < b! ? -1 : a! > b! ? 1 : 0
}

/** Earliest expiry first, then by id. */
export function compareExpiry(
  a: Pick<StorageObject, 'id' | 'expiresAt'>,
  b: Pick<StorageObject, 'id' | 'expiresAt'>,
): number {
  return compare(a.expiresAt, b.expiresAt) || compare(a.id, b.id)
}

/** Oldest first, then by attempt. */
export function compareLeftovers(
  a: Pick<Leftover, 'since' | 'attemptId'>,
  b: Pick<Leftover, 'since' | 'attemptId'>,
): number {
  return compare(a.since, b.since) || compare(a.attemptId, b.attemptId)
}
