import { invalid, shown } from './invalid.js'

interface TextLimit {
  readonly max: number
  readonly unit: 'characters' | 'bytes of UTF-8'
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
} as const satisfies Record<string, TextLimit>

export type TextField = keyof typeof TEXT_LIMITS

const LONE_SURROGATE = /\p{Surrogate}/u

/**
 * Returns why a string can't be stored unchanged in every database, or `null`. Postgres refuses NUL characters, and MongoDB
 * replaces unpaired surrogates.
 */
export function textFlaw(value: string): string | null {
  if (value.includes('\0')) return 'must not contain a NUL character'
  if (LONE_SURROGATE.test(value)) return 'must not contain an unpaired surrogate'
  return null
}

/** Returns the length of a well-formed string in bytes of UTF-8. */
export function utf8Length(value: string): number {
  return new TextEncoder().encode(value).byteLength
}

/** Returns whether a string exceeds its limit, without measuring far beyond it. */
function isLonger(value: string, { max, unit }: TextLimit): boolean {
  // A UTF-16 unit is one to three bytes of UTF-8, and a code point is one or two units.
  if (unit === 'bytes of UTF-8') {
    return value.length * 3 > max && (value.length > max || utf8Length(value) > max)
  }
  return value.length > max && (value.length > 2 * max || [...value].length > max)
}

/**
 * Returns a string within the limits of `kind`. Errors name it `field`.
 *
 * @throws StorageError `VALIDATION_ERROR` for anything else.
 */
export function checkText(kind: TextField, value: unknown, field: string = kind): string {
  const limit: TextLimit = TEXT_LIMITS[kind]
  const allowed = `must be a string of 1 to ${limit.max} ${limit.unit}`
  if (typeof value !== 'string') throw invalid(field, `${allowed} (got ${shown(value)}).`)
  if (value === '') throw invalid(field, `${allowed} (got an empty string).`)
  if (isLonger(value, limit)) throw invalid(field, `${allowed} (got a longer one).`)
  const flaw = textFlaw(value)
  if (flaw) throw invalid(field, `${flaw}.`)
  return value
}
