import { describe, expect, it } from 'vitest'
import { createAttemptId, type StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { createMemoryDriver } from '../../../../src/adapters/memory/memory-driver.js'
import { Tables } from '../../../../src/adapters/memory/tables.js'
import { createStore } from '../../../../src/core/store/create-store.js'
import { encodeEventCursor } from '../../../../src/core/store/cursor.js'
import { idNumber } from '../../core/rows.js'
import { afterNoon, NOON } from '../../core/settable-clock.js'

// The conformance suite tests the store. This is what only the memory adapter has.

const KEY = { bucket: 'photos', key: 'a.png' }
const OWNED = { ...KEY, scope: 'user:1' }

describe('the option events', () => {
  const objects = [OWNED]

  it.each([undefined, null, false])('is off by default: %s', async (events) => {
    const store = memoryAdapter({ objects, events })
    await store.update({ ...KEY, filename: 'a' })
    expect(await store.claimEvents()).toEqual([])
    expect(await store.settleEvents([{ id: 'event', claim: 'claim' }])).toEqual([])
    expect(await store.extendClaims([{ id: 'event', claim: 'claim' }])).toEqual([])
    expect(await store.listEvents()).toEqual({ items: [], next: null })
    expect(await store.countEvents()).toEqual({ waiting: 0, claimed: 0, retrying: 0 })
  })

  it('records changes from the start, but no seed records', async () => {
    const store = memoryAdapter({ objects, events: true })
    expect(await store.countEvents()).toMatchObject({ waiting: 0 })
    await store.update({ ...KEY, filename: 'a' })
    await store.migrate()
    expect(await store.claimEvents()).toMatchObject([{ type: 'updated', object: { filename: 'a' } }])
  })

  it('must be a boolean', () => {
    expect(() => memoryAdapter({ events: 'on' as unknown as boolean })).toThrow(
      new TypeError('memoryAdapter: events must be true or false (got "on").'),
    )
  })
})

describe('the memory adapter', () => {
  it('needs no migration, verifies without findings and stays usable after close()', async () => {
    const store = memoryAdapter()
    expect(await store.migrate()).toEqual({ from: 0, to: 0 })
    expect(await store.verify()).toEqual([])
    await expect(store.ping()).resolves.toBeUndefined()
    await store.close()
    expect(await store.countByScope('user:1')).toBe(0)
  })

  it("refuses the cursor of another adapter's events", async () => {
    const after = encodeEventCursor('position of another adapter')
    await expect(memoryAdapter().listEvents({ after })).rejects.toMatchObject({ code: 'INVALID_CURSOR' })
  })

  it('keeps both objects that were given one id, and finds the one of the scope', async () => {
    const store = memoryAdapter({ now: () => NOON })
    const id = createAttemptId()
    const at = (owner: string) => ({ bucket: 'bucket', key: owner })
    for (const owner of ['a', 'b'])
      await store.reserve({ ...at(owner), id, scope: owner, declaredSize: 1, expiresAt: afterNoon(1) })
    expect(await store.findById({ id, scope: 'b' })).toMatchObject({ key: 'b' })
    await store.release(at('b'))
    expect(await store.findById({ id })).toMatchObject({ key: 'a' })
    expect(await store.findById({ id, scope: 'b' })).toBeNull()
    // A live row comes before history.
    await store.confirm({ ...at('a'), size: 1 })
    await store.remove(at('a'))
    await store.reserve({ ...at('c'), id, scope: 'a', declaredSize: 1, expiresAt: afterNoon(1) })
    expect(await store.findById({ id })).toMatchObject({ key: 'c' })
  })

  it('keeps nothing of objects that were removed, purged, forgotten and delivered', async () => {
    const tables = new Tables({ events: true })
    const store = createStore(createMemoryDriver(tables), { now: () => NOON })
    const upload = { declaredSize: 9, expiresAt: afterNoon(1), storageKey: 'new', route: 'avatars' }
    await store.adopt({ ...OWNED, storageKey: 'stored', size: 5, createdAt: NOON, route: 'avatars' })
    await store.reserve({ ...OWNED, ...upload })
    await store.transfer({ ...KEY, from: 'user:1', to: 'user:2' })
    await store.remove(KEY)
    expect(await store.purgeDeleted({ before: NOON })).toBe(1)
    for (const { attemptId } of await store.listLeftovers()) await store.forgetLeftover({ attemptId })
    while ((await store.countEvents()).waiting > 0) await store.settleEvents(await store.claimEvents())
    for (const scope of ['user:1', 'user:2']) {
      expect([tables.rows(scope, null), tables.leftovers.of(scope)]).toEqual([null, null])
    }
    const { expiring, deleted } = tables.dated(null)!
    expect([expiring.size, deleted.size, tables.names.buckets]).toEqual([0, 0, 0])
    expect(tables.events.sizes).toEqual({ events: 0, objects: 0, due: 0 })
  })
})

/** Changes everything that can be changed in a result, as a careless caller might. */
function mutate(value: unknown): void {
  if (value instanceof Date) value.setTime(0)
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    mutate(inner)
    if (!(inner instanceof Date)) Reflect.set(value, name, 'mutated')
  }
}

describe('the memory adapter copies', () => {
  const bytes = { storageKey: 'stored/1', size: 0, createdAt: NOON }

  // The suite mutates the results of the older calls.
  it.each<[string, (of: StorageObjectStore) => Promise<unknown>]>([
    ['findById', (of) => of.findById({ id: idNumber(1) })],
    ['findById of a deleted row', (of) => of.findById({ id: idNumber(3) })],
    ['listScopes', (of) => of.listScopes()],
    ['listStored', (of) => of.listStored({ bucket: 'photos' })],
    ['listLeftovers by when they are due', (of) => of.listLeftovers({ dueBefore: NOON })],
    ['update, repeated', (of) => of.update({ ...KEY, metadata: { c: 'd' } })],
    ['transfer, repeated', (of) => of.transfer({ ...KEY, from: 'user:2', to: 'user:1' })],
    ['adopt of known bytes', (of) => of.adopt({ ...OWNED, ...bytes, key: 'x' })],
    ['listEvents', (of) => of.listEvents()],
  ])('what it returns from %s', async (_method, call) => {
    const store = memoryAdapter({
      now: () => NOON,
      events: true,
      objects: [
        { ...OWNED, id: idNumber(1), metadata: { a: 'b' }, storageKey: 'stored/1' },
        { ...OWNED, id: idNumber(2), status: 'pending', storageKey: 'stored/2' },
        { ...OWNED, id: idNumber(3), key: 'c', status: 'deleted', metadata: { a: 'b' } },
      ],
    })
    await store.release(KEY)
    mutate(await store.update({ ...KEY, metadata: { c: 'd' } }))
    const first = await call(store)
    const original = structuredClone(first)
    mutate(first)
    expect(first).not.toEqual(original)
    expect(await call(store)).toEqual(original)
  })

  it('what it returns from the writes of an object, and claimed events', async () => {
    const store = memoryAdapter({ now: () => NOON, events: true })
    const writes = [
      async () => (await store.adopt({ ...OWNED, ...bytes, metadata: { a: 'b' } })).object,
      () => store.update({ ...KEY, metadata: { c: 'd' } }),
      () => store.transfer({ ...KEY, from: 'user:1', to: 'user:2' }),
    ]
    for (const write of writes) {
      const row = await write()
      const original = structuredClone(row)
      mutate(row)
      expect(await store.find(KEY)).toEqual(original)
    }
    const [listed] = (await store.listEvents()).items
    mutate(await store.claimEvents())
    expect((await store.listEvents()).items[0]).toMatchObject({ object: listed!.object, createdAt: NOON })
  })

  it('its seed records and the Date of its clock', async () => {
    const time = new Date(NOON)
    const object = { ...OWNED, metadata: { a: 'b' }, createdAt: new Date(NOON) }
    const store = memoryAdapter({ now: () => time, objects: [object, { ...OWNED, key: 'b' }] })
    object.metadata.a = 'changed'
    object.createdAt.setTime(0)
    time.setTime(0)
    expect(await store.find(KEY)).toMatchObject({ metadata: { a: 'b' }, createdAt: NOON })
    expect(await store.find({ ...KEY, key: 'b' })).toMatchObject({ createdAt: NOON, updatedAt: NOON })
  })
})
