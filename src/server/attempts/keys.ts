import { hexOf } from '../../core/store/attempt-id.js'
import type { BytesReference } from '../../core/object-storage.js'
import type { StorageObject } from '../../core/store/records.js'
import { TEXT_LIMITS } from '../../core/store/validation/checks.js'

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

/**
 * Returns the storage key of an attempt for a key that the application chose: the key with the attempt id appended. Long
 * keys are truncated to the limit of S3, and the segments `.` and `..`, which URLs resolve, become underscores.
 */
export function attemptStorageKey(key: string, attemptId: string): string {
  // In ASCII, so a character is a byte.
  const suffix = `~${attemptId}`
  const safeKey = key
    .split('/')
    .map((segment) => (segment === '.' || segment === '..' ? '_'.repeat(segment.length) : segment))
    .join('/')
  return truncateToBytes(safeKey, TEXT_LIMITS.storageKey.max - suffix.length) + suffix
}

/** Truncates a text to at most `max` bytes of UTF-8, without splitting a character. */
function truncateToBytes(text: string, max: number): string {
  // A UTF-16 unit is at most three bytes.
  if (text.length * 3 <= max) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(max))
  return text.slice(0, read)
}

/** What has a signal: a `Request` or an `AbortController`. */
export interface SignalSource {
  readonly signal: AbortSignal
}

/**
 * Returns the bucket and key under which the storage holds the bytes of a record. The signal is read when the storage asks for
 * it, because bindings create the signal of a request only then.
 */
export function bytesOf(row: StorageObject, source?: SignalSource): BytesReference {
  const { bucket } = row
  const key = row.storageKey ?? row.key
  if (!source) return { bucket, key }
  return {
    bucket,
    key,
    get signal() {
      return source.signal
    },
  }
}
