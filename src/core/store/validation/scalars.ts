import { isAttemptId } from '../attempt-id.js'
import { invalid, shown } from './invalid.js'

const LATEST_DATE = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
/** The first millisecond of the year 1. Databases differ in how far back they reach; no row is older than this. */
const EARLIEST_DATE = new Date('0001-01-01T00:00:00.000Z').getTime()

/** @throws StorageError `VALIDATION_ERROR` unless it is an integer from `min` to `max`. */
export function checkInteger(field: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw invalid(field, `must be an integer from ${min} to ${max}, not ${shown(value)}.`)
  }
  return value + 0 // -0 becomes 0
}

/** Bytes. @throws StorageError `VALIDATION_ERROR` unless it is an integer from 0 to `Number.MAX_SAFE_INTEGER`. */
export function checkSize(field: string, value: unknown): number {
  return checkInteger(field, value, 0, Number.MAX_SAFE_INTEGER)
}

/** A copy of a date. One before the year 1 counts as its start. @throws StorageError `VALIDATION_ERROR` beyond the year 9999. */
export function checkDate(field: string, value: unknown): Date {
  if (!(value instanceof Date)) throw invalid(field, `must be a Date, not ${shown(value)}.`)
  const time = value.getTime()
  if (Number.isNaN(time)) throw invalid(field, 'must be a valid Date; this one has no time.')
  if (time > LATEST_DATE) throw invalid(field, 'must not be later than the year 9999.')
  return new Date(Math.max(time, EARLIEST_DATE))
}

/** @throws StorageError `VALIDATION_ERROR` unless it is a boolean. */
export function checkBoolean(field: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw invalid(field, `must be true or false, not ${shown(value)}.`)
  return value
}

/** @throws StorageError `VALIDATION_ERROR` unless it is one of the values. */
export function checkOneOf<const T extends string>(field: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value)
  if (found === undefined) {
    throw invalid(
      field,
      `must be one of ${allowed.map((name) => `"${name}"`).join(', ')}, not ${shown(value)}.`,
    )
  }
  return found
}

/** @throws StorageError `VALIDATION_ERROR` unless it is a lower-case, hyphenated UUIDv7. */
export function checkAttemptId(field: string, value: unknown): string {
  if (!isAttemptId(value)) {
    throw invalid(
      field,
      `must be a lower-case UUIDv7 with hyphens, as createAttemptId() makes, not ${shown(value)}.`,
    )
  }
  return value
}

/** @throws StorageError `VALIDATION_ERROR` unless it is an object. */
export function checkObject(field: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null)
    throw invalid(field, `must be an object, not ${shown(value)}.`)
  return value as Record<string, unknown>
}

/** `null` for what was left out, else what the check makes of it. */
export function optional<T>(value: unknown, check: (value: unknown) => T): T | null {
  return value === undefined || value === null ? null : check(value)
}
