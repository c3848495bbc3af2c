import type { StorageObject } from '@svc/db'
import { createStore, type StoreDriver } from '@svc/db/adapter'
import { describe, expect, it, vi } from 'vitest'
import { createMemoryDriver } from '../../../../src/adapters/memory/memory-driver.js'
import { Tables } from '../../../../src/adapters/memory/tables.js'
import { checkBesideWriters, listed, storeWithRows } from './beside-writers.js'

async function all(rows: AsyncIterable<StorageObject>): Promise<StorageObject[]> {
  const found: StorageObject[] = []
  for await (const row of rows) found.push(row)
  return found
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

  it('yields a row that stays once, and no row twice, beside writers', () => checkBesideWriters(5))
})
