import { createAttemptId, type StorageObject, type StorageObjectStore } from '@svc/db'
import { createStore, type StoreDriver } from '@svc/db/adapter'
import { memoryAdapter, type SeedObject } from '@svc/db/memory'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { createMemoryDriver } from '../../../../src/adapters/memory/memory-driver.js'
import { Tables } from '../../../../src/adapters/memory/tables.js'
import { afterNoon, NOON } from '../settable-clock.js'

// The pages have 500 rows.

const ROWS = 1203
const now = () => NOON

function seed(index: number): SeedObject {
  const status = (['active', 'pending', 'active', 'deleted'] as const)[index % 4]!
  const place = { scope: index % 7 === 0 ? 'bob' : 'ann', bucket: 'files', key: `key ${index}` }
  return { ...place, id: createAttemptId({ now }), status, route: index % 3 === 0 ? 'photos' : null }
}

const storeWithRows = () =>
  memoryAdapter({ now, objects: Array.from({ length: ROWS }, (_, index) => seed(index)) })

async function all(rows: AsyncIterable<StorageObject>): Promise<StorageObject[]> {
  const found: StorageObject[] = []
  for await (const row of rows) found.push(row)
  return found
}

async function listed(
  store: StorageObjectStore,
  input: Parameters<StorageObjectStore['listByScope']>[0],
): Promise<StorageObject[]> {
  const { objects, nextCursor } = await store.listByScope(input)
  return nextCursor === undefined
    ? objects
    : [...objects, ...(await listed(store, { ...input, cursor: nextCursor }))]
}

/** A store over a driver that lists these rows of `ann`, and its calls. */
function listing(list: StoreDriver['list']) {
  const spy = vi.fn(list)
  return {
    store: createStore({ ...createMemoryDriver(new Tables({ events: false })), list: spy }),
    list: spy,
  }
}

describe('iterateByScope', () => {
  it.each([
    { scope: 'ann' },
    { scope: 'ann', status: null, route: null, signal: null },
    { scope: 'ann', status: 'active' as const },
    { scope: 'ann', status: 'deleted' as const, route: 'photos' },
    { scope: 'bob', route: 'photos' },
    { scope: 'eve' },
  ])('yields the rows of listByScope, in its order: %j', async (input) => {
    const store = storeWithRows()
    const { signal: _, ...filter } = { signal: null, ...input }
    expect(await all(store.iterateByScope(input))).toEqual(await listed(store, filter))
  })

  it('reads a page when the one before has been used, and none after the last', async () => {
    const rows = await listed(storeWithRows(), { scope: 'ann', limit: 1000 })
    const { store, list } = listing(async ({ before, limit }) =>
      rows.filter(({ id }) => before === null || id < before).slice(0, limit),
    )
    let seen = 0
    for await (const _ of store.iterateByScope({ scope: 'ann', route: 'photos' })) {
      seen++
      expect(list).toHaveBeenCalledTimes(Math.ceil(seen / 500))
    }
    expect(seen).toBe(rows.length)
    expect(list.mock.calls.map(([query]) => query)).toEqual(
      [null, rows[499]!.id].map((before) => ({
        ...{ scope: 'ann', statuses: ['pending', 'active'], route: 'photos', before, limit: 500 },
        ...{ withMetadata: true, fromPrimary: false },
      })),
    )
    for await (const _ of store.iterateByScope({ scope: 'ann' })) break
    expect(list).toHaveBeenCalledTimes(3)
  })

  it.each<[field: string, input: object | null]>([
    ['scope', {}],
    ['scope', { scope: '' }],
    ['status', { scope: 'ann', status: 'gone' }],
    ['route', { scope: 'ann', route: 5 }],
    ['signal', { scope: 'ann', signal: {} }],
    ['limit', { scope: 'ann', limit: 5 }],
    ['prefix', { scope: 'ann', prefix: 'a' }],
    ['input', null],
  ])('rejects at the first step for an invalid %s: %j', async (field, input) => {
    const { store, list } = listing(async () => [])
    const rows = store.iterateByScope(input as { scope: string })[Symbol.asyncIterator]()
    await expect(rows.next()).rejects.toMatchObject({ code: 'VALIDATION_ERROR', params: { field } })
    expect(list).not.toHaveBeenCalled()
  })

  it('ends with the reason of its signal: at once, at the next row, and while a page is read', async () => {
    const reason = new Error('enough')
    const controller = new AbortController()
    const input = { scope: 'ann', signal: controller.signal }
    const store = storeWithRows()
    const rows = store.iterateByScope(input)[Symbol.asyncIterator]()
    await rows.next()
    const waiting = listing(() => new Promise(() => undefined))
    const stuck = waiting.store.iterateByScope(input)[Symbol.asyncIterator]().next()
    await vi.waitUntil(() => waiting.list.mock.calls.length > 0)
    controller.abort(reason)
    await expect(stuck).rejects.toBe(reason)
    await expect(rows.next()).rejects.toBe(reason)
    expect(await rows.next()).toEqual({ done: true, value: undefined })
    const late = listing(async () => [])
    await expect(all(late.store.iterateByScope(input))).rejects.toBe(reason)
    expect(late.list).not.toHaveBeenCalled()
  })

  it('rejects with what a page rejects with', async () => {
    const { store } = listing(() => Promise.reject(new Error('the database is down')))
    const { signal } = new AbortController()
    await expect(all(store.iterateByScope({ scope: 'ann', signal }))).rejects.toThrow('the database is down')
  })

  const write = fc.record({
    kind: fc.constantFrom('create', 'remove', 'transfer', 'rename', 'confirm', 'replace'),
    row: fc.nat(ROWS - 1),
    /** After how many rows. */
    after: fc.nat(1000),
  })

  it('yields a row that stays once, and no row twice, beside writers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 60 }), async (writes) => {
        const store = storeWithRows()
        const before = await listed(store, { scope: 'ann', limit: 1000 })
        const touched = new Set<string>()
        const seen: StorageObject[] = []
        for await (const row of store.iterateByScope({ scope: 'ann' })) {
          seen.push(row)
          const due = writes.filter(({ after }) => after === seen.length)
          for (const { kind, row: index } of due) {
            const { bucket, key } = seed(index)
            const at = { bucket, key }
            // Renamed and confirmed objects stay where they are in the list.
            if (['remove', 'transfer', 'replace'].includes(kind)) touched.add(key)
            if (kind === 'create') await reserve(store, `new ${index}`)
            if (kind === 'remove') await store.remove(at)
            if (kind === 'transfer') await store.transfer({ ...at, from: 'ann', to: 'bob' })
            if (kind === 'rename') await store.update({ ...at, filename: 'renamed' })
            if (kind === 'confirm') await store.confirm({ ...at, size: 1 }).catch(() => undefined)
            if (kind === 'replace') await reserve(store, key).catch(() => undefined)
          }
        }
        const ids = seen.map(({ id }) => id)
        expect(ids).toEqual([...new Set(ids)].sort().reverse())
        const kept = (rows: readonly StorageObject[]) =>
          rows.filter(({ key }) => !touched.has(key)).map(({ id }) => id)
        expect(kept(seen)).toEqual(kept(before))
      }),
      { numRuns: 20 },
    )
  })
})

function reserve(store: StorageObjectStore, key: string) {
  return store.reserve({ scope: 'ann', bucket: 'files', key, declaredSize: 1, expiresAt: afterNoon(1000) })
}
