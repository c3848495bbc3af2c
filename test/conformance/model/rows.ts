import type { Leftover, StorageObject } from '../../../src/core/store/records.js'
import { END_OF_TIME } from '../clock.js'
import type { Expected } from '../outcome.js'
import { ok } from '../outcome.js'

/** The number of items in a page whose size is not given. */
export const DEFAULT_LIMIT = 100

/** A row, the time until which a signed URL of its attempt can write, and the terms of its attempt. */
export type ModelRow = StorageObject & {
  readonly writableUntil: Date
  readonly temporarySeconds: number | null
  readonly checkSeconds: number | null
}

/** Returns the part of a row that calls return. */
export function recordOf(row: ModelRow): StorageObject {
  const { writableUntil: _until, temporarySeconds: _temporary, checkSeconds: _check, ...record } = row
  return record
}

/** Returns a later date, at most the last one that the contract allows. */
export function secondsAfter(date: Date, seconds: number): Date {
  return new Date(Math.min(date.getTime() + seconds * 1000, END_OF_TIME.getTime()))
}

/** Returns whether a list with this status includes the row. Without a status, lists include pending and active rows. */
export function isListed(row: ModelRow, status: StorageObject['status'] | null | undefined): boolean {
  return status == null ? row.status !== 'deleted' : row.status === status
}

/** Returns whether the row belongs to another scope than the given one. */
export function isForeign(row: ModelRow | undefined, scope: string | null | undefined): boolean {
  return row !== undefined && scope != null && row.scope !== scope
}

export function isAttempt(row: ModelRow, id: string | null | undefined): boolean {
  return id == null || row.id === id
}

/** Returns whether the row is the result of this attempt. `null` matches any. */
export function isNamed(row: ModelRow, attemptId: string | null | undefined): boolean {
  return attemptId == null || row.attemptId === attemptId
}

/** Returns the name of the bytes in the bucket. */
export function nameOf({ storageKey, key }: Pick<StorageObject, 'storageKey' | 'key'>): string {
  return storageKey ?? key
}

export function isUpload(row: ModelRow, uploadId: string | null | undefined): boolean {
  return uploadId == null || row.uploadId === uploadId
}

export function compare<T extends string | Date | null>(a: T, b: T): number {
  return a! < b! ? -1 : a! > b! ? 1 : 0
}

/** Sorts by the bytes of UTF-8, which is the order of code points. JavaScript compares UTF-16. */
export function compareBytes(a: string, b: string): number {
  const [ofA, ofB] = [[...a], [...b]]
  const index = ofA.findIndex((character, position) => character !== ofB[position])
  if (index === -1) return ofA.length - ofB.length
  return index < ofB.length ? ofA[index]!.codePointAt(0)! - ofB[index]!.codePointAt(0)! : 1
}

/** Sorts by expiry, then by id. */
export function compareExpiry(
  a: Pick<StorageObject, 'id' | 'expiresAt'>,
  b: Pick<StorageObject, 'id' | 'expiresAt'>,
): number {
  return compare(a.expiresAt, b.expiresAt) || compare(a.id, b.id)
}

/** Sorts leftovers that were never put off first, then by `dueAt`, then by attempt. */
export function compareDueLeftovers(
  a: Pick<Leftover, 'dueAt' | 'attemptId'>,
  b: Pick<Leftover, 'dueAt' | 'attemptId'>,
): number {
  const never = Number(b.dueAt == null) - Number(a.dueAt == null)
  return never || compare(a.dueAt ?? null, b.dueAt ?? null) || compare(a.attemptId, b.attemptId)
}

/** Sorts by `since`, then by attempt. */
export function compareLeftovers(
  a: Pick<Leftover, 'since' | 'attemptId'>,
  b: Pick<Leftover, 'since' | 'attemptId'>,
): number {
  return compare(a.since, b.since) || compare(a.attemptId, b.attemptId)
}

export function recordOrNull(row: ModelRow | null | undefined): Expected<StorageObject | null> {
  return ok(row ? recordOf(row) : null)
}
