import { hexOf, truncateToBytes } from '../../core/bytes.js'
import { isDotSegment } from '../../core/dot-segments.js'
import { TEXT_LIMITS, checkText } from '../../core/store/validation/checks.js'

/** The key of an object, and those of its bytes. */
export interface UploadKeys {
  readonly key: string
  /** Returns the storage key of an attempt. No two attempts share one. */
  storageKeyOf(attemptId: string): string
}

/** Returns the keys for a key that the application chose. Each attempt gets its own storage key. */
export function applicationKeys(value: unknown): UploadKeys {
  const key = checkText('key', value)
  return { key, storageKeyOf: (attemptId) => attemptStorageKey(key, attemptId) }
}

/** The longest name of a file, in bytes. Services that keep objects as files refuse longer segments of a key. */
const MAX_SEGMENT = 255

/**
 * Returns the key with the attempt id appended, cut to the limit of S3, and its last segment to that of a file name. URLs would resolve
 * the segments `.` and `..`.
 */
function attemptStorageKey(key: string, attemptId: string): string {
  // In ASCII, so a character is a byte.
  const suffix = `~${attemptId}`
  const segments = key
    .split('/')
    .map((segment) => (isDotSegment(segment) ? '_'.repeat(segment.length) : segment))
  const last = truncateToBytes(segments.pop() ?? '', MAX_SEGMENT - suffix.length)
  const safeKey = [...segments, last].join('/')
  return truncateToBytes(safeKey, TEXT_LIMITS.storageKey.max - suffix.length) + suffix
}

const PREFIX_CHARACTERS = 64
const RANDOM_BYTES = 16

/** Returns a unique key: the route's name as a prefix, and 128 random bits. */
export function randomKey(route: string): string {
  const prefix = [...route]
    .slice(0, PREFIX_CHARACTERS)
    .join('')
    .replace(/[^\w-]/gu, '_')
  const random = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES))
  return `${prefix}/${hexOf(random)}`
}
