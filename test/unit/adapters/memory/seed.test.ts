import { describe, expect, it } from 'vitest'
import { StorageError, type StorageObject } from '@svc/db'
import { memoryAdapter, type SeedObject } from '@svc/db/memory'
import { idNumber } from '../../core/rows.js'
import { afterNoon, NOON } from '../../core/settable-clock.js'

const PLACE = { bucket: 'photos', key: 'a.png' }
const OWNED = { ...PLACE, scope: 'user:1' }
const MOST = Number.MAX_SAFE_INTEGER

function seeded(...objects: SeedObject[]) {
  return memoryAdapter({ now: () => NOON, objects })
}

/** The error of a store that is made of these objects; they may be of any shape. */
function refusalOf(...objects: unknown[]): StorageError {
  try {
    seeded(...(objects as SeedObject[]))
  } catch (error) {
    expect(error).toBeInstanceOf(StorageError)
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR' })
    return error as StorageError
  }
  throw new Error('The objects were not refused.')
}

describe('an object to begin with', () => {
  it('is active, of 0 bytes and made now where it says nothing more', async () => {
    expect(await seeded(OWNED).find(PLACE)).toStrictEqual({
      ...OWNED,
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/) as string,
      attemptId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/) as string,
      status: 'active',
      route: null,
      filename: null,
      contentType: null,
      size: 0,
      declaredSize: null,
      eTag: null,
      metadata: null,
      storageKey: null,
      uploadId: null,
      expiresAt: null,
      createdAt: NOON,
      updatedAt: NOON,
      confirmedAt: NOON,
      deletedAt: null,
    })
  })

  it('has the same defaults where null is given', async () => {
    const nulls = {
      id: null,
      attemptId: null,
      status: null,
      size: null,
      createdAt: null,
      updatedAt: null,
      confirmedAt: null,
      metadata: null,
    }
    const store = seeded({ ...OWNED, ...nulls } as unknown as SeedObject)
    expect(await store.find(PLACE)).toMatchObject({ status: 'active', size: 0, createdAt: NOON })
  })

  it('reserves 0 bytes for a day where it is pending', async () => {
    const row = await seeded({ ...OWNED, status: 'pending' }).findPending(PLACE)
    expect(row).toMatchObject({
      declaredSize: 0,
      size: null,
      expiresAt: afterNoon(86_400_000),
      confirmedAt: null,
      attemptId: row?.id,
    })
  })

  it('was deleted now where it is deleted', async () => {
    const row = await seeded({ ...OWNED, status: 'deleted' }).find(PLACE)
    expect(row).toMatchObject({ status: 'deleted', size: 0, deletedAt: NOON, confirmedAt: NOON })
  })

  it('is in every field as it is given', async () => {
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
    }
    expect(await seeded(given).find(PLACE)).toStrictEqual(given)
  })

  it('was changed last when the last thing happened to it', async () => {
    const dates = { createdAt: afterNoon(-3), confirmedAt: afterNoon(-2) }
    expect(await seeded({ ...OWNED, ...dates }).find(PLACE)).toMatchObject({ updatedAt: afterNoon(-2) })
    const deleted = { ...OWNED, ...dates, status: 'deleted', deletedAt: afterNoon(-1) } as const
    expect(await seeded(deleted).find(PLACE)).toMatchObject({ updatedAt: afterNoon(-1) })
    const pending = { ...OWNED, status: 'pending', createdAt: afterNoon(-3) } as const
    expect(await seeded(pending).find(PLACE)).toMatchObject({ updatedAt: afterNoon(-3) })
  })

  it('counts in every answer of the store', async () => {
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

  it('leaves over its bytes until the URL of its attempt lapses', async () => {
    const store = seeded({ ...OWNED, status: 'pending', storageKey: 'stored/1', expiresAt: afterNoon(500) })
    await store.release(PLACE)
    expect(await store.listLeftovers()).toMatchObject([
      { storageKey: 'stored/1', since: NOON, writableUntil: afterNoon(500) },
    ])
  })

  it('of an active row leaves over its bytes as of when it was confirmed', async () => {
    const store = seeded({ ...OWNED, storageKey: 'stored/1', confirmedAt: afterNoon(-500) })
    await store.remove(PLACE)
    expect(await store.listLeftovers()).toMatchObject([{ writableUntil: afterNoon(-500) }])
  })
})

describe('an object to begin with is refused by its index', () => {
  const BAD: readonly [field: string, object: unknown][] = [
    ['objects', null],
    ['objects', 'a.png'],
    ['scope', PLACE],
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

  it.each(BAD)('for a bad %s: %o', (field, object) => {
    const good = { ...OWNED, key: 'good.png' }
    const error = refusalOf(good, object)
    expect(error.params).toEqual({ field })
    expect(error.message).toMatch(new RegExp(`^objects\\[1\\]: ${field} must .+\\.$`))
  })

  const NOT_OF_THIS_STATUS: readonly [status: string, field: string, value: unknown][] = [
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

  it.each(NOT_OF_THIS_STATUS)(
    'where it is %s and has a field that only others have: %s',
    (status, field, value) => {
      const error = refusalOf({ ...OWNED, status, [field]: value })
      expect(error.params).toEqual({ field })
      expect(error.message).toBe(`objects[0]: ${field} must be left out of a row that is ${status}.`)
    },
  )

  it('where it is pending by another attempt than its own', () => {
    const error = refusalOf({ ...OWNED, status: 'pending', id: idNumber(1), attemptId: idNumber(2) })
    expect(error.params).toEqual({ field: 'attemptId' })
  })

  const active = { ...OWNED, id: idNumber(1), attemptId: idNumber(2), storageKey: 'stored/1' }
  const pending = { ...OWNED, status: 'pending' }
  const BESIDE: readonly [what: string, field: string, one: unknown, other: unknown][] = [
    ['a second active row of a key', 'key', active, OWNED],
    ['a second pending row of a key', 'key', pending, pending],
    ['a pending row in another scope than the active one', 'key', active, { ...pending, scope: 'user:2' }],
    ['an active row in another scope than the pending one', 'key', { ...pending, scope: 'user:2' }, active],
    ['the id of another object', 'id', active, { ...OWNED, key: 'b.png', id: idNumber(1) }],
    ['the id of history', 'id', { ...active, status: 'deleted' }, { ...pending, id: idNumber(1) }],
    ['the attempt of the active row', 'attemptId', active, { ...pending, id: idNumber(2) }],
    ['the attempt of the pending row', 'attemptId', { ...pending, id: idNumber(2) }, active],
    ['the id of the active row as its attempt', 'id', active, { ...pending, id: idNumber(1) }],
    ['the storage key of the active row', 'storageKey', active, { ...pending, storageKey: 'stored/1' }],
    ['the storage key of the pending row', 'storageKey', { ...pending, storageKey: 'stored/1' }, active],
    ['more bytes than sums can say', 'size', { ...OWNED, size: MOST }, { ...OWNED, key: 'b.png', size: 1 }],
  ]

  it.each(BESIDE)('where it has %s', (_what, field, one, other) => {
    const error = refusalOf(one, other)
    expect(error.params).toEqual({ field })
    expect(error.message).toMatch(new RegExp(`^objects\\[1\\]: ${field} .+\\.$`))
  })

  it('and what its own getters throw is thrown as it is', () => {
    const broken = Object.defineProperty({ ...OWNED }, 'size', {
      get: () => {
        throw new RangeError('broken getter')
      },
    })
    expect(() => seeded(broken)).toThrow(RangeError)
  })
})

describe('objects to begin with may be', () => {
  it('at the limits: all bytes that sums can say, lapsed reservations, the first date', async () => {
    const store = seeded(
      { ...OWNED, size: MOST - 1 },
      { ...OWNED, key: 'b.png', size: 1, createdAt: new Date(-8.64e15) },
      { ...OWNED, key: 'c.png', scope: 'user:2', status: 'pending', expiresAt: new Date(0) },
    )
    expect(await store.getScopeUsage('user:1')).toMatchObject({ bytes: MOST })
    expect(await store.find({ bucket: 'photos', key: 'b.png' })).toMatchObject({
      createdAt: new Date('0001-01-01T00:00:00.000Z'),
    })
    expect(await store.listExpired()).toHaveLength(1)
  })

  it('rows of one key that are all of its life: history, an object and its replacement', async () => {
    const store = seeded(
      { ...OWNED, scope: 'user:2', status: 'deleted' },
      { ...OWNED, status: 'deleted' },
      { ...OWNED, status: 'pending' },
      OWNED,
    )
    expect(await store.countByScope('user:1')).toBe(2)
    expect(await store.countByScope('user:2', 'deleted')).toBe(1)
  })

  it('none at all', async () => {
    expect(await memoryAdapter({ objects: [] }).listExpired()).toEqual([])
    expect(await memoryAdapter().listExpired()).toEqual([])
  })
})
