import { expect, it } from 'vitest'
import { StorageError, type ObjectMetadata } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { shown } from '../../../../src/core/store/validation/checks.js'
import { afterNoon, NOON } from '../settable-clock.js'

// The conformance suite checks which values every store refuses. These are the texts, which it leaves open.

const store = memoryAdapter({ now: () => NOON })
const RESERVATION = {
  scope: 'user:1',
  bucket: 'photos',
  key: 'a.png',
  declaredSize: 5,
  expiresAt: afterNoon(1000),
}

async function messageOf(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(StorageError)
  return (error as StorageError).message
}

const MOST = Number.MAX_SAFE_INTEGER
it.each<[field: string, value: unknown, message: string]>([
  ['scope', 5, 'must be a string of 1 to 255 characters (got 5).'],
  ['scope', '', 'must be a string of 1 to 255 characters (got an empty string).'],
  ['scope', 'a'.repeat(256), 'must be a string of 1 to 255 characters (got a longer one).'],
  ['key', 'é'.repeat(513), 'must be a string of 1 to 1024 bytes of UTF-8 (got a longer one).'],
  ['key', 'a\0', 'must not contain a NUL character.'],
  ['key', '\ud83d', 'must not contain an unpaired surrogate.'],
  ['declaredSize', -1, `must be an integer from 0 to ${MOST} (got -1).`],
  ['expiresAt', '2030', 'must be a Date (got "2030").'],
  ['expiresAt', new Date(NaN), 'must be a valid Date (got Invalid Date).'],
  [
    'expiresAt',
    new Date('+010000-01-01T00:00:00.000Z'),
    'must not be after the year 9999 (got +010000-01-01T00:00:00.000Z).',
  ],
  ['expiresAt', NOON, 'must be in the future (got 2026-03-01T12:00:00.000Z).'],
  ['overwrite', 'true', 'must be true or false (got "true").'],
  ['id', 'id', 'must be a lower-case UUIDv7 with hyphens, as createAttemptId() returns (got "id").'],
  ['metadata', ['a'], 'must be an object of strings (got an array).'],
  ['metadata', new Map([['a', 'b']]), 'must be an object of strings (got an object).'],
  ['metadata', { good: 'a', bad: 5 }, 'must have strings as values (got 5 for "bad").'],
  ['metadata', { bad: '\0' }, 'must not contain a NUL character (entry "bad").'],
  [
    'metadata',
    Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`name ${index}`, ''])),
    'must have at most 64 entries (got 65).',
  ],
  ['metadata', { a: 'b'.repeat(16_384) }, 'must be at most 16384 bytes of UTF-8 in total (got 16385).'],
])('names the field, the value and what is allowed: %s, %j', async (field, value, message) => {
  const input = { ...RESERVATION, [field]: value }
  expect(await messageOf(store.reserve(input))).toBe(`${field} ${message}`)
})

it('names the limit of a quota', async () => {
  const reserve = (quota: object) => messageOf(store.reserve({ ...RESERVATION, quota }))
  expect(await reserve([])).toBe('quota must be an object { maxBytes?, maxFiles? } (got an array).')
  expect(await reserve({ maxFiles: -1 })).toBe(
    `quota.maxFiles must be an integer from 0 to ${MOST} (got -1).`,
  )
  expect(await reserve({ maxBytes: 4 })).toBe(
    'The quota of 4 bytes would be exceeded: 0 in use, 5 more requested.',
  )
  expect(await reserve({ maxFiles: 0 })).toBe(
    'The quota of 0 files would be exceeded: 0 in use, 1 more requested.',
  )
})

it('names the limit that metadata would exceed', async () => {
  const { id, ...at } = await store.reserve({ ...RESERVATION, metadata: { a: 'b' } })
  await store.confirm({ bucket: at.bucket, key: at.key, id, size: 5 })
  const update = (setMetadata: object, more = {}) =>
    messageOf(
      store.update({ bucket: at.bucket, key: at.key, setMetadata: setMetadata as ObjectMetadata, ...more }),
    )
  const names = Array.from({ length: 64 }, (_, index) => [`name ${index}`, ''] as const)
  expect(await update(Object.fromEntries(names))).toBe('setMetadata must leave at most 64 entries (got 65).')
  expect(await update({ c: 'd'.repeat(16_382) })).toBe(
    'setMetadata must leave at most 16384 bytes of UTF-8 in total (got 16385).',
  )
  expect(await update({ c: 5 })).toBe('setMetadata must have strings or null as values (got 5 for "c").')
  expect(await update([])).toBe('setMetadata must be an object of strings or null (got an array).')
  expect(await update({}, { metadata: null })).toBe('setMetadata must not be given together with metadata.')
})

it('names the allowed values, and both places of a repeated id', async () => {
  const remove = store.remove({ ...RESERVATION, mode: 'purge' as 'soft' })
  expect(await messageOf(remove)).toBe('mode must be one of "soft", "hard" (got "purge").')
  const claim = { id: 'event', claim: 'claim' }
  expect(await messageOf(store.settleEvents([claim, { ...claim, id: 'other' }, claim]))).toBe(
    'entries[2].id must differ from entries[0].id (got "event" twice).',
  )
})

it.each([
  ['a'.repeat(40), `"${'a'.repeat(40)}"`],
  ['a'.repeat(41), `"${'a'.repeat(40)}…"`],
  ['a\ud83d\n', '"a\\ud83d\\n"'],
  [null, 'null'],
  [5n, 'a bigint'],
  [{ password: 'secret' }, 'an object'],
  [['secret'], 'an array'],
  [() => 'secret', 'a function'],
])('shows a value shortened and well-formed, without what it contains: %o', (value, text) => {
  expect(shown(value)).toBe(text)
})
