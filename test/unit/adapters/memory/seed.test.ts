import { describe, expect, it } from 'vitest'
import { StorageError, type StorageObject } from '@svc/db'
import { memoryAdapter, type SeedObject } from '@svc/db/memory'
import { activeRow, idNumber } from '../../core/rows.js'
import { afterNoon, NOON } from '../../core/settable-clock.js'

const KEY = { bucket: 'photos', key: 'a.png' }
const OWNED = { ...KEY, scope: 'user:1' }
const MAX_BYTES = Number.MAX_SAFE_INTEGER

function seeded(...objects: SeedObject[]) {
  return memoryAdapter({ now: () => NOON, objects })
}

/** Returns the error for these seed records, which may have any shape. */
function refusalOf(...objects: unknown[]): StorageError {
  try {
    seeded(...(objects as SeedObject[]))
  } catch (error) {
    expect(error).toBeInstanceOf(StorageError)
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR' })
    return error as StorageError
  }
  throw new Error('The objects were accepted.')
}

describe('a seed record', () => {
  it('defaults to an active object of 0 bytes, created now', async () => {
    const id = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/) as string
    expect(await seeded(OWNED).find(KEY)).toStrictEqual(activeRow({ ...OWNED, id, attemptId: id, size: 0 }))
  })

  it('treats null like a missing field', async () => {
    const names = ['id', 'attemptId', 'status', 'size', 'createdAt', 'updatedAt', 'confirmedAt', 'metadata']
    const nulls = Object.fromEntries(names.map((name) => [name, null]))
    expect(await seeded({ ...OWNED, ...nulls }).find(KEY)).toMatchObject({
      status: 'active',
      createdAt: NOON,
    })
  })

  it('reserves 0 bytes for a day if it is pending, and was deleted now if it is deleted', async () => {
    const pending = await seeded({ ...OWNED, status: 'pending' }).findPending(KEY)
    const expiresAt = afterNoon(86_400_000)
    expect(pending).toMatchObject({ declaredSize: 0, size: null, expiresAt, attemptId: pending?.id })
    const deleted = await seeded({ ...OWNED, status: 'deleted' }).find(KEY)
    expect(deleted).toMatchObject({ status: 'deleted', size: 0, deletedAt: NOON, confirmedAt: NOON })
  })

  it('keeps every given field', async () => {
    const given: StorageObject = {
      ...OWNED,
      id: idNumber(1),
      attemptId: idNumber(2),
      status: 'deleted',
      route: 'avatars',
      filename: 'me.png',
      contentType: 'image/png',
      size: 5,
      declaredSize: null,
      eTag: 'etag',
      metadata: { $set: 'a', __proto__name: 'b' },
      storageKey: 'stored/1',
      uploadId: null,
      expiresAt: null,
      createdAt: afterNoon(-4),
      updatedAt: afterNoon(-1),
      confirmedAt: afterNoon(-3),
      deletedAt: afterNoon(-2),
      temporaryUntil: null,
      arrivedAt: null,
    }
    expect(await seeded(given).find(KEY)).toStrictEqual(given)
  })

  it('can be temporary, or wait for its check', async () => {
    const temporaryUntil = afterNoon(-1)
    const store = memoryAdapter({
      now: () => NOON,
      objects: [
        { ...OWNED, temporaryUntil },
        { ...OWNED, key: 'b', status: 'pending', arrivedAt: NOON, size: 5, storageKey: 'stored/b' },
      ],
    })
    expect(await store.listTemporary()).toMatchObject([{ ...KEY, temporaryUntil }])
    expect(await store.listArrived()).toMatchObject([{ key: 'b', size: 5, arrivedAt: NOON }])
    expect(await store.getScopeUsage(OWNED.scope)).toMatchObject({ reservedBytes: 5 })
  })

  it('sets updatedAt to the latest of its dates', async () => {
    const dates = { createdAt: afterNoon(-3), confirmedAt: afterNoon(-2) }
    expect(await seeded({ ...OWNED, ...dates }).find(KEY)).toMatchObject({ updatedAt: afterNoon(-2) })
    const deleted = { ...OWNED, ...dates, status: 'deleted', deletedAt: afterNoon(-1) } as const
    expect(await seeded(deleted).find(KEY)).toMatchObject({ updatedAt: afterNoon(-1) })
    const pending = { ...OWNED, status: 'pending', createdAt: afterNoon(-3) } as const
    expect(await seeded(pending).find(KEY)).toMatchObject({ updatedAt: afterNoon(-3) })
  })

  it('counts in usage, counts and lists', async () => {
    const store = seeded(
      { ...OWNED, size: 100 },
      { ...OWNED, status: 'pending', declaredSize: 130 },
      { ...OWNED, key: 'b.png', status: 'pending', declaredSize: 7, expiresAt: afterNoon(-1) },
      { ...OWNED, key: 'c.png', status: 'deleted', size: 1000 },
    )
    expect(await store.getScopeUsage('user:1')).toEqual({
      bytes: 100,
      files: 1,
      reservedBytes: 37,
      reservedFiles: 1,
    })
    expect(await store.countByScope('user:1')).toBe(3)
    expect(await store.countByScope('user:1', 'deleted')).toBe(1)
    expect(await store.listExpired()).toMatchObject([{ key: 'b.png' }])
    expect(await store.checkUsage()).toEqual([])
  })

  it('leaves a leftover that is writable until its upload URL expires, or until it was confirmed', async () => {
    const pending = { status: 'pending', expiresAt: afterNoon(500) } as const
    for (const [fields, writableUntil] of [
      [pending, afterNoon(500)],
      [{ confirmedAt: afterNoon(-500) }, afterNoon(-500)],
    ] as const) {
      const store = seeded({ ...OWNED, ...fields, storageKey: 'stored/1' })
      await store.remove(KEY)
      expect(await store.listLeftovers()).toMatchObject([
        { storageKey: 'stored/1', since: NOON, writableUntil },
      ])
    }
  })
})

describe('memoryAdapter() refuses a seed record, by its index,', () => {
  const BAD: readonly [field: string, object: unknown][] = [
    ['objects', null],
    ['objects', 'a.png'],
    ['scope', KEY],
    ['scope', { ...OWNED, scope: '' }],
    ['bucket', { scope: 'user:1', key: 'a.png' }],
    ['key', { scope: 'user:1', bucket: 'photos' }],
    ['key', { ...OWNED, key: 'é'.repeat(513) }],
    ['id', { ...OWNED, id: 'id' }],
    ['attemptId', { ...OWNED, attemptId: 'id' }],
    ['status', { ...OWNED, status: 'gone' }],
    ['route', { ...OWNED, route: '' }],
    ['filename', { ...OWNED, filename: 'a\0' }],
    ['contentType', { ...OWNED, contentType: 'a'.repeat(256) }],
    ['size', { ...OWNED, size: -1 }],
    ['declaredSize', { ...OWNED, status: 'pending', declaredSize: 1.5 }],
    ['eTag', { ...OWNED, eTag: '\ud800' }],
    ['metadata', { ...OWNED, metadata: { a: 5 } }],
    ['storageKey', { ...OWNED, storageKey: '' }],
    ['uploadId', { ...OWNED, status: 'pending', uploadId: '' }],
    ['expiresAt', { ...OWNED, status: 'pending', expiresAt: new Date(NaN) }],
    ['createdAt', { ...OWNED, createdAt: '2026-03-01' }],
    ['updatedAt', { ...OWNED, updatedAt: new Date('+010000-01-01T00:00:00.000Z') }],
    ['confirmedAt', { ...OWNED, confirmedAt: 5 }],
    ['deletedAt', { ...OWNED, status: 'deleted', deletedAt: 5 }],
  ]

  it.each(BAD)('with an invalid %s: %o', (field, object) => {
    const good = { ...OWNED, key: 'good.png' }
    const error = refusalOf(good, object)
    expect(error.params).toEqual({ field })
    expect(error.message).toMatch(new RegExp(`^objects\\[1\\]: ${field} must .+\\.$`))
  })

  const WRONG_STATUS: readonly [status: string, field: string, value: unknown][] = [
    ['pending', 'size', 5],
    ['pending', 'eTag', 'etag'],
    ['pending', 'confirmedAt', NOON],
    ['pending', 'deletedAt', NOON],
    ['active', 'declaredSize', 5],
    ['active', 'uploadId', 'upload'],
    ['active', 'expiresAt', NOON],
    ['active', 'deletedAt', NOON],
    ['deleted', 'declaredSize', 5],
    ['deleted', 'uploadId', 'upload'],
    ['deleted', 'expiresAt', NOON],
  ]

  it.each(WRONG_STATUS)('that is %s and has a field of another status: %s', (status, field, value) => {
    const error = refusalOf({ ...OWNED, status, [field]: value })
    expect(error.params).toEqual({ field })
    expect(error.message).toBe(
      `objects[0]: ${field} must not be set on ${status === 'active' ? 'an' : 'a'} ${status} row.`,
    )
  })

  it('that is pending with an attemptId other than its id', () => {
    const error = refusalOf({ ...OWNED, status: 'pending', id: idNumber(1), attemptId: idNumber(2) })
    expect(error.params).toEqual({ field: 'attemptId' })
  })

  const active = { ...OWNED, id: idNumber(1), attemptId: idNumber(2), storageKey: 'stored/1' }
  const pending = { ...OWNED, status: 'pending' }
  const CONFLICTING: readonly [what: string, field: string, one: unknown, other: unknown][] = [
    ['a second active row of a key', 'key', active, OWNED],
    ['a second pending row of a key', 'key', pending, pending],
    ['a pending row in another scope than the active row', 'key', active, { ...pending, scope: 'user:2' }],
    ['an active row in another scope than the pending row', 'key', { ...pending, scope: 'user:2' }, active],
    ['the id of another object', 'id', active, { ...OWNED, key: 'b.png', id: idNumber(1) }],
    ['the id of a deleted row', 'id', { ...active, status: 'deleted' }, { ...pending, id: idNumber(1) }],
    ['the attempt of the active row', 'attemptId', active, { ...pending, id: idNumber(2) }],
    ['the attempt of the pending row', 'attemptId', { ...pending, id: idNumber(2) }, active],
    ['the id of the active row as its attempt', 'id', active, { ...pending, id: idNumber(1) }],
    ['the storage key of the active row', 'storageKey', active, { ...pending, storageKey: 'stored/1' }],
    ['the storage key of the pending row', 'storageKey', { ...pending, storageKey: 'stored/1' }, active],
    [
      'more bytes than the scope can have',
      'size',
      { ...OWNED, size: MAX_BYTES },
      { ...OWNED, key: 'b.png', size: 1 },
    ],
  ]

  it.each(CONFLICTING)('with %s', (_what, field, one, other) => {
    const error = refusalOf(one, other)
    expect(error.params).toEqual({ field })
    expect(error.message).toMatch(new RegExp(`^objects\\[1\\]: ${field} must .+\\.$`))
  })
})

describe('memoryAdapter() accepts', () => {
  it('seed records at the limits: the maximum of bytes, expired reservations, the first date', async () => {
    const store = seeded(
      { ...OWNED, size: MAX_BYTES - 1 },
      { ...OWNED, key: 'b.png', size: 1, createdAt: new Date(-8.64e15) },
      { ...OWNED, key: 'c.png', scope: 'user:2', status: 'pending', expiresAt: new Date(0) },
    )
    expect(await store.getScopeUsage('user:1')).toMatchObject({ bytes: MAX_BYTES })
    expect(await store.find({ bucket: 'photos', key: 'b.png' })).toMatchObject({
      createdAt: new Date('0001-01-01T00:00:00.000Z'),
    })
    expect(await store.listExpired()).toHaveLength(1)
  })

  it('deleted, active and pending rows of one key, or none at all', async () => {
    const store = seeded(
      { ...OWNED, scope: 'user:2', status: 'deleted' },
      { ...OWNED, status: 'deleted' },
      { ...OWNED, status: 'pending' },
      OWNED,
    )
    expect(await store.countByScope('user:1')).toBe(2)
    expect(await store.countByScope('user:2', 'deleted')).toBe(1)
    expect(await memoryAdapter({ objects: [] }).listExpired()).toEqual([])
  })
})
