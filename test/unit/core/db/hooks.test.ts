import { beforeEach, describe, expect, it, vi } from 'vitest'
import { db, type DbHooks, type StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { NOON } from '../settable-clock.js'
import { requestOf, resolveUser } from './db-requests.js'

const now = () => NOON
const request = requestOf('user:1', '/upload')

let client: StorageObjectStore

beforeEach(() => {
  client = memoryAdapter({ now })
})

function plugin(hooks: DbHooks, onError = vi.fn()) {
  return db({ client, resolveScope: resolveUser, bucket: 'photos', now, hooks, onError })
}

function spies() {
  return { onReserved: vi.fn(), onActivated: vi.fn(), onDeleted: vi.fn() }
}

describe('the hooks of db()', () => {
  it('get the record and the request after the database has the change, and are awaited', async () => {
    const seen: unknown[] = []
    const note = (name: string) => async (event: { object: unknown }) => {
      seen.push([name, event, await client.find({ bucket: 'photos', key: 'a' })])
    }
    const files = plugin({
      onReserved: note('reserved'),
      onActivated: note('activated'),
      onDeleted: note('deleted'),
    })
    const reserved = await files.reserve(request, { key: 'a', declaredSize: 5, metadata: { a: 'b' } })
    const activated = await files.confirm(request, { key: 'a', size: 5 })
    const deleted = await files.remove(request, { key: 'a' })
    expect(seen).toStrictEqual([
      ['reserved', { object: reserved, request }, reserved],
      ['activated', { object: activated, replaced: null, request }, activated],
      ['deleted', { object: deleted, request }, deleted],
    ])
  })

  it('get the replaced record, and are not called for a repeated confirm', async () => {
    const hooks = spies()
    const files = plugin(hooks)
    const first = await files.reserve(request, { key: 'a', declaredSize: 5 })
    const replaced = await files.confirm(request, { key: 'a', size: 5, eTag: 'one' })
    await files.confirm(request, { key: 'a', size: 5, eTag: 'one' })
    await files.confirm(request, { key: 'a', id: first.id, size: 5 })
    const { id } = await files.reserve(request, { key: 'a', declaredSize: 6 })
    await files.confirm(request, { key: 'a', id: first.id, size: 5 })
    expect(hooks.onActivated).toHaveBeenCalledTimes(1)
    const object = await files.confirm(request, { key: 'a', id, size: 6, eTag: 'two' })
    expect(hooks.onActivated.mock.calls.slice(1)).toEqual([[{ object, replaced, request }]])
  })

  it('run once for concurrent confirms of an attempt', async () => {
    const hooks = spies()
    const files = plugin(hooks)
    const { id } = await files.reserve(request, { key: 'a', declaredSize: 5 })
    await Promise.all([1, 2, 3].map(() => files.confirm(request, { key: 'a', id, size: 5 })))
    expect(hooks.onActivated).toHaveBeenCalledTimes(1)
  })

  it('run around a confirm that the application has wrapped', async () => {
    const hooks = spies()
    const store = client
    const confirm = vi.fn<StorageObjectStore['confirm']>((input) => store.confirm(input))
    client = { ...store, confirm }
    const files = plugin(hooks)
    await files.reserve(request, { key: 'a', declaredSize: 5 })
    const object = await files.confirm(request, { key: 'a', size: 5, eTag: 'one' })
    await files.confirm(request, { key: 'a', size: 5, eTag: 'one' })
    expect(confirm).toHaveBeenCalledTimes(2)
    expect(hooks.onActivated.mock.calls).toEqual([[{ object, replaced: null, request }]])
  })
})
