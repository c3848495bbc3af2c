import { beforeEach, describe, expect, it } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { idNumber } from '../../core/rows.js'
import { afterNoon, NOON } from '../../core/settable-clock.js'

const PLACE = { bucket: 'photos', key: 'a.png' }
const OWNED = { ...PLACE, scope: 'user:1' }

/** Changes everything in an answer that can be changed, as a careless caller might. */
function spoil(value: unknown): void {
  if (value instanceof Date) {
    value.setTime(0)
    return
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    spoil(inner)
    if (!(inner instanceof Date)) Reflect.set(value, name, 'spoilt')
  }
}

describe('what the memory adapter answers is a copy:', () => {
  let store: StorageObjectStore

  beforeEach(() => {
    store = memoryAdapter({
      now: () => NOON,
      objects: [
        { ...OWNED, id: idNumber(1), metadata: { a: 'b' }, storageKey: 'stored/1' },
        { ...OWNED, key: 'p', id: idNumber(2), status: 'pending', uploadId: 'upload', declaredSize: 5 },
        { ...OWNED, key: 'l', id: idNumber(3), status: 'pending', expiresAt: afterNoon(-1) },
        { ...OWNED, key: 'd', id: idNumber(4), status: 'deleted', metadata: { a: 'b' } },
      ],
    })
  })

  it.each<[string, (of: StorageObjectStore) => Promise<unknown>]>([
    ['listByScope', (of) => of.listByScope({ scope: 'user:1' })],
    ['listByScope of history', (of) => of.listByScope({ scope: 'user:1', status: 'deleted' })],
    ['getScopeUsage', (of) => of.getScopeUsage('user:1')],
    ['getScopeUsage of nobody', (of) => of.getScopeUsage('nobody')],
    ['find', (of) => of.find(PLACE)],
    ['find of history', (of) => of.find({ bucket: 'photos', key: 'd' })],
    ['findActive', (of) => of.findActive(PLACE)],
    ['findPending', (of) => of.findPending({ bucket: 'photos', key: 'p' })],
    ['findPendingMultipart', (of) => of.findPendingMultipart({ bucket: 'photos', key: 'p', fileSize: 5 })],
    ['listExpired', (of) => of.listExpired()],
    [
      'reserve, repeated',
      (of) =>
        of.reserve({
          ...OWNED,
          key: 'p',
          id: idNumber(2),
          declaredSize: 5,
          expiresAt: afterNoon(1),
        }),
    ],
    [
      'setUploadId, repeated',
      (of) => of.setUploadId({ bucket: 'photos', key: 'p', id: idNumber(2), uploadId: 'upload' }),
    ],
    ['confirm, repeated', (of) => of.confirm({ ...PLACE, id: idNumber(1), size: 0 })],
  ])('%s', async (_method, ask) => {
    const first = await ask(store)
    const asItWas = structuredClone(first)
    spoil(first)
    expect(first).not.toEqual(asItWas)
    expect(await ask(store)).toEqual(asItWas)
  })

  it('the row of each write', async () => {
    const reserved = await store.reserve({
      ...OWNED,
      key: 'new',
      declaredSize: 5,
      expiresAt: afterNoon(1),
      metadata: { a: 'b' },
    })
    const place = { bucket: 'photos', key: 'new' }
    const asReserved = structuredClone(reserved)
    spoil(reserved)
    expect(await store.find(place)).toEqual(asReserved)

    const confirmed = await store.confirm({ ...place, size: 5 })
    const asConfirmed = structuredClone(confirmed)
    spoil(confirmed)
    expect(await store.find(place)).toEqual(asConfirmed)

    const removed = await store.remove(place)
    const asRemoved = structuredClone(removed)
    spoil(removed)
    expect(await store.find(place)).toEqual(asRemoved)
  })

  it('what is left over', async () => {
    await store.remove(PLACE)
    const leftovers = await store.listLeftovers()
    const asTheyWere = structuredClone(leftovers)
    spoil(leftovers)
    expect(asTheyWere).toHaveLength(1)
    expect(await store.listLeftovers()).toEqual(asTheyWere)
  })

  it('the objects that it was seeded with stay the own of the caller', async () => {
    const object = { ...OWNED, metadata: { a: 'b' }, createdAt: new Date(NOON) }
    const seeded = memoryAdapter({ objects: [object] })
    object.metadata.a = 'changed'
    object.createdAt.setTime(0)
    expect(await seeded.find(PLACE)).toMatchObject({ metadata: { a: 'b' }, createdAt: NOON })
  })

  it('the Date of its clock stays the own of the caller', async () => {
    const time = new Date(NOON)
    const seeded = memoryAdapter({ now: () => time, objects: [OWNED] })
    time.setTime(0)
    expect(await seeded.find(PLACE)).toMatchObject({ createdAt: NOON, updatedAt: NOON, confirmedAt: NOON })
  })
})
