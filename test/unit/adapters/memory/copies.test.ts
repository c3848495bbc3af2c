import { beforeEach, describe, expect, it } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { idNumber } from '../../core/rows.js'
import { afterNoon, NOON } from '../../core/settable-clock.js'

const KEY = { bucket: 'photos', key: 'a.png' }
const OWNED = { ...KEY, scope: 'user:1' }

/** Changes everything that can be changed in a result, as a careless caller might. */
function mutate(value: unknown): void {
  if (value instanceof Date) {
    value.setTime(0)
    return
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    mutate(inner)
    if (!(inner instanceof Date)) Reflect.set(value, name, 'mutated')
  }
}

describe('the memory adapter returns a copy from', () => {
  let store: StorageObjectStore

  beforeEach(() => {
    store = memoryAdapter({
      now: () => NOON,
      events: true,
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
    ['listByScope of deleted rows', (of) => of.listByScope({ scope: 'user:1', status: 'deleted' })],
    ['getScopeUsage', (of) => of.getScopeUsage('user:1')],
    ['getScopeUsage of an unknown scope', (of) => of.getScopeUsage('unknown')],
    ['find', (of) => of.find(KEY)],
    ['find of a deleted row', (of) => of.find({ bucket: 'photos', key: 'd' })],
    ['findActive', (of) => of.findActive(KEY)],
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
    ['findById', (of) => of.findById({ id: idNumber(1) })],
    ['findById of a deleted row', (of) => of.findById({ id: idNumber(4) })],
    ['listScopes', (of) => of.listScopes()],
    ['listStored', (of) => of.listStored({ bucket: 'photos' })],
    ['update, repeated', (of) => of.update({ ...KEY, metadata: { a: 'b' } })],
    ['transfer, repeated', (of) => of.transfer({ ...KEY, from: 'user:2', to: 'user:1' })],
    [
      'adopt of known bytes',
      (of) => of.adopt({ ...OWNED, key: 'x', storageKey: 'stored/1', size: 0, createdAt: NOON }),
    ],
    ['confirm, repeated', (of) => of.confirm({ ...KEY, id: idNumber(1), size: 0 })],
  ])('%s', async (_method, call) => {
    const first = await call(store)
    const original = structuredClone(first)
    mutate(first)
    expect(first).not.toEqual(original)
    expect(await call(store)).toEqual(original)
  })

  it('every write', async () => {
    const reserved = await store.reserve({
      ...OWNED,
      key: 'new',
      declaredSize: 5,
      expiresAt: afterNoon(1),
      metadata: { a: 'b' },
    })
    const newKey = { bucket: 'photos', key: 'new' }
    const reservedRow = structuredClone(reserved)
    mutate(reserved)
    expect(await store.find(newKey)).toEqual(reservedRow)

    const confirmed = await store.confirm({ ...newKey, size: 5 })
    const confirmedRow = structuredClone(confirmed)
    mutate(confirmed)
    expect(await store.find(newKey)).toEqual(confirmedRow)

    const removed = await store.remove(newKey)
    const removedRow = structuredClone(removed)
    mutate(removed)
    expect(await store.find(newKey)).toEqual(removedRow)
  })

  it('every write of an object', async () => {
    const key = { bucket: 'photos', key: 'new' }
    const bytes = { storageKey: 'new/1', size: 5, createdAt: NOON, metadata: { a: 'b' } }
    const adopted = await store.adopt({ ...key, ...bytes, scope: 'user:1' })
    const adoptedRow = structuredClone(adopted.object)
    mutate(adopted)
    expect(await store.find(key)).toEqual(adoptedRow)

    const updated = await store.update({ ...key, metadata: { c: 'd' } })
    const updatedRow = structuredClone(updated)
    mutate(updated)
    expect(await store.find(key)).toEqual(updatedRow)

    const transferred = await store.transfer({ ...key, from: 'user:1', to: 'user:2' })
    const transferredRow = structuredClone(transferred)
    mutate(transferred)
    expect(await store.find(key)).toEqual(transferredRow)
  })

  it('its events', async () => {
    const updated = await store.update({ ...KEY, metadata: { c: 'd' } })
    const listed = await store.listEvents()
    const original = structuredClone(listed)
    expect(original.items).toMatchObject([
      { object: { metadata: { c: 'd' } }, previous: { metadata: { a: 'b' } } },
    ])
    mutate(updated)
    mutate(listed)
    expect(await store.listEvents()).toEqual(original)

    const [claimed] = await store.claimEvents()
    const { object, previous, createdAt } = structuredClone(claimed!)
    mutate(claimed)
    expect((await store.listEvents()).items).toMatchObject([{ object, previous, createdAt }])
    expect(await store.find(KEY)).toEqual(object)
  })

  it('its events, without fields that only the adapter needs', async () => {
    const updated = await store.update({ ...KEY, filename: 'a' })
    const [{ object, previous } = {}] = (await store.listEvents()).items
    expect(object).toStrictEqual(updated)
    expect(Object.keys(previous!).sort()).toEqual(Object.keys(updated!).sort())
  })

  it('listLeftovers', async () => {
    await store.remove(KEY)
    const leftovers = await store.listLeftovers()
    const original = structuredClone(leftovers)
    mutate(leftovers)
    expect(original).toHaveLength(1)
    expect(await store.listLeftovers()).toEqual(original)
  })
})

describe('the memory adapter copies', () => {
  it('its seed records', async () => {
    const object = { ...OWNED, metadata: { a: 'b' }, createdAt: new Date(NOON) }
    const seeded = memoryAdapter({ objects: [object] })
    object.metadata.a = 'changed'
    object.createdAt.setTime(0)
    expect(await seeded.find(KEY)).toMatchObject({ metadata: { a: 'b' }, createdAt: NOON })
  })

  it('the Date that its clock returns', async () => {
    const time = new Date(NOON)
    const seeded = memoryAdapter({ now: () => time, objects: [OWNED] })
    time.setTime(0)
    expect(await seeded.find(KEY)).toMatchObject({ createdAt: NOON, updatedAt: NOON, confirmedAt: NOON })
  })
})
