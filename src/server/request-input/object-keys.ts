import { utf8Length, TEXT_LIMITS } from '../../core/store/validation/text.js'

const PREFIX_CHARACTERS = 64
const RANDOM_BYTES = 16

/** A key that never repeats: a prefix that tells the route, and 128 random bits. */
export function randomKey(route: string): string {
  const prefix = [...route]
    .slice(0, PREFIX_CHARACTERS)
    .join('')
    .replace(/[^\w-]/gu, '_')
  const random = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES))
  return `${prefix}/${Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/**
 * Where the bytes of one attempt lie under a key that the application made: readable beside the key, of this attempt
 * alone, within the limit of a key, and without the segments that URLs lose.
 */
export function attemptStorageKey(key: string, attemptId: string): string {
  const suffix = `~${attemptId}`
  const harmless = key
    .split('/')
    .map((segment) => (segment === '.' || segment === '..' ? '_'.repeat(segment.length) : segment))
    .join('/')
  return cutToBytes(harmless, TEXT_LIMITS.storageKey.max - utf8Length(suffix)) + suffix
}

/** The longest start of a text, in whole characters, that has at most `max` bytes of UTF-8. */
function cutToBytes(text: string, max: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(max))
  return text.slice(0, read)
}
