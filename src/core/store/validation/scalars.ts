import { isAttemptId } from '../attempt-id.js'
import { invalid, shown } from './invalid.js'

export const LATEST_DATE = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
/** The first millisecond of the year 1. Databases differ in how far back they reach, and no row is older than this. */
const EARLIEST_DATE = new Date('0001-01-01T00:00:00.000Z').getTime()

/** Returns an integer from `min` to `max`. @throws StorageError `VALIDATION_ERROR` for anything else. */
export function checkInteger(field: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw invalid(field, `must be an integer from ${min} to ${max} (got ${shown(value)}).`)
  }
  return value + 0 // -0 becomes 0
}

/** Returns a number of bytes from 0 to `Number.MAX_SAFE_INTEGER`. @throws StorageError `VALIDATION_ERROR` for anything else. */
export function checkSize(field: string, value: unknown): number {
  return checkInteger(field, value, 0, Number.MAX_SAFE_INTEGER)
}

/** Returns a copy of a date, at the earliest the start of year 1. @throws StorageError `VALIDATION_ERROR` after the year 9999. */
export function checkDate(field: string, value: unknown): Date {
  if (!(value instanceof Date)) throw invalid(field, `must be a Date (got ${shown(value)}).`)
  const time = value.getTime()
  if (Number.isNaN(time)) throw invalid(field, 'must be a valid Date (got Invalid Date).')
  if (time > LATEST_DATE)
    throw invalid(field, `must not be after the year 9999 (got ${value.toISOString()}).`)
  return new Date(Math.max(time, EARLIEST_DATE))
}

/** Returns a boolean. @throws StorageError `VALIDATION_ERROR` for anything else. */
export function checkBoolean(field: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw invalid(field, `must be true or false (got ${shown(value)}).`)
  return value
}

/** Returns one of the allowed values. @throws StorageError `VALIDATION_ERROR` for anything else. */
export function checkOneOf<const T extends string>(field: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value)
  if (found === undefined) {
    const names = allowed.map((name) => `"${name}"`).join(', ')
    throw invalid(field, `must be one of ${names} (got ${shown(value)}).`)
  }
  return found
}

/** Returns a lower-case, hyphenated UUIDv7. @throws StorageError `VALIDATION_ERROR` for anything else. */
export function checkAttemptId(field: string, value: unknown): string {
  if (!isAttemptId(value)) {
    throw invalid(
      field,
      `must be a lower-case UUIDv7 with hyphens, as createAttemptId() returns (got ${shown(value)}).`,
    )
  }
  return value
}

/** Returns an object. @throws StorageError `VALIDATION_ERROR` for anything else. */
export function checkObject(field: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null)
    throw invalid(field, `must be an object (got ${shown(value)}).`)
  return value as Record<string, unknown>
}

/** Returns `null` for `null` and `undefined`, otherwise the result of `check`. */
export function optional<T>(value: unknown, check: (value: unknown) => T): T | null {
  return value === undefined || value === null ? null : check(value)
}
