import type { SQLInputValue, SQLOutputValue } from 'node:sqlite'
import type { StorageObject } from '@svc/db/adapter'

type Stored = Readonly<Record<string, SQLOutputValue>>

const OBJECT_FIELDS = `id, attemptId, scope, bucket, key, status, route, filename, contentType, size, declaredSize, eTag,
  storageKey, uploadId, expiresAt, createdAt, updatedAt, confirmedAt, deletedAt, temporaryUntil, arrivedAt`
export const OBJECT = `${OBJECT_FIELDS}, metadata`
export const WITHOUT_METADATA = `${OBJECT_FIELDS}, NULL AS metadata`
/** The fields of a `TrackedRow`. */
export const TRACKED = `${OBJECT}, writableUntil, temporarySeconds, checkSeconds`
export const LEFTOVER = 'attemptId, scope, bucket, key, storageKey, uploadId, since, writableUntil, dueAt'

/** Stands for no date where SQLite must compare it. Sorts before every date. */
export const NEVER = Number.MIN_SAFE_INTEGER

const DATES = /At$|Until$|^since$/

/** Returns what SQLite stores: dates in milliseconds since 1970, and objects as JSON. */
export function encode(values: object): Record<string, SQLInputValue> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, encodeValue(name, value)]))
}

function encodeValue(name: string, value: unknown): SQLInputValue {
  if (value instanceof Date) return value.getTime()
  // As a list, because JSON.parse of Node 24 and 26 may take a name with an escape for another (nodejs/node#63785).
  if (name === 'metadata' && value) return JSON.stringify(Object.entries(value))
  if (typeof value === 'object' && value !== null) return JSON.stringify(encode(value))
  return typeof value === 'string' || typeof value === 'number' ? value : null
}

/** Reverses {@link encode}, by the names of columns. */
export function decode(row: Stored): object {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, decodeValue(name, value)]))
}

function decodeValue(name: string, value: SQLOutputValue): unknown {
  if (DATES.test(name) && typeof value === 'number') return value === NEVER ? null : new Date(value)
  if (typeof value !== 'string') return value
  if (name === 'metadata') return Object.fromEntries(JSON.parse(value) as [string, string][])
  return name === 'object' || name === 'previous' ? decode(JSON.parse(value) as Stored) : value
}

/** Copies a row of a plan without `writableUntil`, which callers must not see. */
export function withoutTracking(row: StorageObject & { readonly writableUntil?: Date }): StorageObject {
  const { writableUntil: _, ...object } = structuredClone(row)
  return object
}
