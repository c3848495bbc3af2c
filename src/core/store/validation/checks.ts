import { utf8Length } from '../../bytes.js'
import { StorageError } from '../../errors.js'
import { namesOf, suggestion, unknownName, type KnownNames } from '../../known-names.js'
import { isBuiltIn } from '../../realms.js'
import { isAttemptId } from '../attempt-id.js'
import type { Quota } from '../records.js'

/** Creates the error for a bad parameter. `message` continues the sentence that starts with the field's name. */
export function invalid(field: string, message: string): StorageError {
  return new StorageError('VALIDATION_ERROR', { message: `${field} ${message}`, params: { field } })
}

/** Creates the error for a field that the call doesn't have. `own` are those that it has, all after the same `path`. */
export function unknownField(name: string, own: Iterable<string>, path = ''): StorageError {
  return new StorageError('VALIDATION_ERROR', {
    message: `${shown(path + name)} is not a field of this call. ${suggestion(name, own, path)}`,
    params: { field: path + name },
  })
}

/** Formats a value for an error message: simple values up to 40 characters, other values by their kind. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined) {
    return String(value)
  }
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** Formats a value in place of a connection. Does not quote a string, which can contain a password. */
export function shownHandle(value: unknown): string {
  if (typeof value === 'string') return 'a string'
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return shown(value)
  const { constructor } = value as { readonly constructor?: unknown }
  const name = typeof constructor === 'function' ? constructor.name : ''
  return name === '' || name === 'Object' ? 'an object' : `an instance of ${name}`
}

export const LATEST_DATE = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
/** The first millisecond of the year 1. Databases differ in how far back they reach, and no row is older than this. */
const EARLIEST_DATE = new Date('0001-01-01T00:00:00.000Z').getTime()

/** Returns a later date. Databases accept no date after the last one. */
export function secondsAfter(date: Date, seconds: number): Date {
  return new Date(Math.min(date.getTime() + seconds * 1000, LATEST_DATE))
}

// Each check returns the value, or throws a StorageError `VALIDATION_ERROR` that names the field and what is allowed.

export function checkInteger(field: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw invalid(field, `must be an integer from ${min} to ${max} (got ${shown(value)}).`)
  }
  return value + 0 // -0 becomes 0
}

export function checkSize(field: string, value: unknown): number {
  return checkInteger(field, value, 0, Number.MAX_SAFE_INTEGER)
}

/** Returns a copy of a date, at the earliest the start of year 1. */
export function checkDate(field: string, value: unknown): Date {
  if (!isBuiltIn(value, 'Date')) throw invalid(field, `must be a Date (got ${shown(value)}).`)
  const time = value.getTime()
  if (Number.isNaN(time)) throw invalid(field, 'must be a valid Date (got Invalid Date).')
  if (time > LATEST_DATE)
    throw invalid(field, `must not be after the year 9999 (got ${value.toISOString()}).`)
  return new Date(Math.max(time, EARLIEST_DATE))
}

export function checkBoolean(field: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw invalid(field, `must be true or false (got ${shown(value)}).`)
  return value
}

export function checkOneOf<const T extends string>(field: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value)
  if (found === undefined) {
    const names = allowed.map((name) => `"${name}"`).join(', ')
    throw invalid(field, `must be one of ${names} (got ${shown(value)}).`)
  }
  return found
}

export function checkAttemptId(field: string, value: unknown): string {
  if (!isAttemptId(value)) {
    throw invalid(
      field,
      `must be a lower-case UUIDv7 with hyphens, as createAttemptId() returns (got ${shown(value)}).`,
    )
  }
  return value
}

export function checkObject(field: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null)
    throw invalid(field, `must be an object (got ${shown(value)}).`)
  return value as Record<string, unknown>
}

/** Returns `null` for `null` and `undefined`, otherwise the result of `check`. */
export function optional<T>(value: unknown, check: (value: unknown) => T): T | null {
  return value === undefined || value === null ? null : check(value)
}

/** Maximum lengths; the minimum is always 1. The limit of keys is S3's. A character is a Unicode code point. */
export const TEXT_LIMITS = {
  scope: { max: 255, unit: 'characters' },
  bucket: { max: 255, unit: 'characters' },
  key: { max: 1024, unit: 'bytes of UTF-8' },
  storageKey: { max: 1024, unit: 'bytes of UTF-8' },
  route: { max: 255, unit: 'characters' },
  contentType: { max: 255, unit: 'characters' },
  filename: { max: 1024, unit: 'characters' },
  uploadId: { max: 1024, unit: 'characters' },
  eTag: { max: 255, unit: 'characters' },
  eventId: { max: 100, unit: 'characters' },
  claim: { max: 100, unit: 'characters' },
  reason: { max: 500, unit: 'characters' },
} as const

export type TextField = keyof typeof TEXT_LIMITS

const LONE_SURROGATE = /\p{Surrogate}/u

/** Returns why a string can't be stored, or `null`. Postgres refuses NUL characters, and MongoDB replaces unpaired surrogates. */
export function textFlaw(value: string): string | null {
  if (value.includes('\0')) return 'must not contain a NUL character'
  if (LONE_SURROGATE.test(value)) return 'must not contain an unpaired surrogate'
  return null
}

/** Returns whether a string exceeds its limit, without measuring far beyond it. */
function isLonger(value: string, { max, unit }: (typeof TEXT_LIMITS)[TextField]): boolean {
  // A UTF-16 unit is one to three bytes of UTF-8, and a code point is one or two units.
  if (unit === 'bytes of UTF-8') {
    return value.length * 3 > max && (value.length > max || utf8Length(value) > max)
  }
  return value.length > max && (value.length > 2 * max || [...value].length > max)
}

export function checkText(kind: TextField, value: unknown, field: string = kind): string {
  const limit = TEXT_LIMITS[kind]
  const allowed = `must be a string of 1 to ${limit.max} ${limit.unit}`
  if (typeof value !== 'string') throw invalid(field, `${allowed} (got ${shown(value)}).`)
  if (value === '') throw invalid(field, `${allowed} (got an empty string).`)
  if (isLonger(value, limit)) throw invalid(field, `${allowed} (got a longer one).`)
  const flaw = textFlaw(value)
  if (flaw) throw invalid(field, `${flaw}.`)
  return value
}

/** A quota; `null` means unlimited. */
export type QuotaLimits = { readonly [Limit in keyof Quota]-?: number | null }

export const QUOTA_NAMES: KnownNames = namesOf<Quota>({ maxBytes: true, maxFiles: true })

/** Returns what is wrong with the quota called `name`, as a sentence without its period, or `null`. Other fields are allowed. */
export function quotaFlaw(name: string, value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return `${name} must be an object { maxBytes?, maxFiles? } (got ${shown(value)})`
  }
  for (const field of ['maxBytes', 'maxFiles'] as const) {
    const limit = (value as { readonly [limit in typeof field]?: unknown })[field]
    if (limit === undefined || limit === null) continue
    if (!Number.isSafeInteger(limit) || (limit as number) < 0) {
      return `${name}.${field} must be an integer from 0 to ${Number.MAX_SAFE_INTEGER} (got ${shown(limit)})`
    }
  }
  return null
}

/** Returns both limits, `null` for none. @throws StorageError `VALIDATION_ERROR` for a bad limit or an unknown field. */
export function checkQuota(field: string, value: unknown): QuotaLimits {
  if (value === undefined || value === null) return { maxBytes: null, maxFiles: null }
  const flaw = quotaFlaw(field, value)
  if (flaw !== null) throw new StorageError('VALIDATION_ERROR', { message: `${flaw}.`, params: { field } })
  const unknown = unknownName(value, QUOTA_NAMES)
  if (unknown !== null) throw unknownField(unknown, QUOTA_NAMES, `${field}.`)
  const { maxBytes, maxFiles } = value as Quota
  return { maxBytes: maxBytes ?? null, maxFiles: maxFiles ?? null }
}
