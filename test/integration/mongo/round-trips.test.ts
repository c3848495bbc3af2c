import { createAttemptId, type StorageObjectStore } from '@svc/db'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { describeMongo, freshDatabase } from './databases.js'
import { watchedClient } from './watched-client.js'

const BUCKET = 'bucket'
const inAnHour = () => new Date(Date.now() + 3_600_000)

interface CountedCall {
  readonly name: string
  readonly prepare?: (store: StorageObjectStore, at: { bucket: string; key: string }) => Promise<unknown>
  readonly call: (store: StorageObjectStore, at: { bucket: string; key: string }) => Promise<unknown>
  readonly commands: readonly string[]
}

const reserve = (store: StorageObjectStore, at: { bucket: string; key: string }, more: object = {}) =>
  store.reserve({ scope: 'scope', ...at, declaredSize: 5, expiresAt: inAnHour(), route: 'r', ...more })
const activate = async (
  store: StorageObjectStore,
  at: { bucket: string; key: string },
  more: object = {},
) => {
  const { id } = await reserve(store, at, more)
  return store.confirm({ ...at, id, size: 5 })
}
const adopt = (store: StorageObjectStore, at: { bucket: string; key: string }, more: object = {}) =>
  store.adopt({
    scope: 'scope',
    ...at,
    storageKey: `bytes of ${at.key}`,
    size: 5,
    createdAt: new Date(),
    ...more,
  })
const quota = { maxBytes: 1e9, maxFiles: 1e6 }

const CALLS: readonly CountedCall[] = [
  {
    name: 'reserve of a new key',
    call: (store, at) => reserve(store, at, { quota, storageKey: at.key }),
    commands: ['find', 'update', 'commitTransaction'],
  },
  {
    name: 'reserve of a new key in a new scope',
    call: (store, at) => reserve(store, at, { scope: `scope of ${at.key}`, quota }),
    commands: ['find', 'update', 'commitTransaction'],
  },
  {
    name: 'reserve that replaces an attempt with a storage key',
    prepare: (store, at) => reserve(store, at, { storageKey: at.key }),
    call: reserve,
    commands: ['find', 'update', 'update', 'commitTransaction'],
  },
  {
    name: 'reserve refused because of its key',
    prepare: (store, at) => reserve(store, at, { scope: 'other' }),
    call: (store, at) => expect(reserve(store, at)).rejects.toMatchObject({ code: 'KEY_CONFLICT' }),
    commands: ['find', 'commitTransaction'],
  },
  {
    name: 'reserve refused because of the quota',
    call: (store, at) =>
      expect(reserve(store, at, { quota: { maxBytes: 1 } })).rejects.toMatchObject({
        code: 'QUOTA_EXCEEDED',
      }),
    commands: ['find', 'commitTransaction'],
  },
  {
    name: 'confirm of a new key',
    prepare: (store, at) => reserve(store, at, { storageKey: at.key }),
    call: (store, at) => store.confirm({ ...at, size: 7, scope: 'scope', quota }),
    commands: ['find', 'update', 'commitTransaction'],
  },
  {
    name: 'repeated confirm',
    prepare: async (store, at) => {
      await reserve(store, at)
      await store.confirm({ ...at, size: 7, eTag: 'e' })
    },
    call: (store, at) => store.confirm({ ...at, size: 7, eTag: 'e' }),
    commands: ['find', 'commitTransaction'],
  },
  {
    name: 'hard remove without a storage key',
    prepare: activate,
    call: (store, at) => store.remove({ ...at, scope: 'scope', mode: 'hard' }),
    commands: ['findAndModify', 'update', 'commitTransaction'],
  },
  {
    name: 'hard remove that records a leftover',
    prepare: (store, at) => activate(store, at, { storageKey: at.key }),
    call: (store, at) => store.remove({ ...at, mode: 'hard' }),
    commands: ['findAndModify', 'update', 'update', 'commitTransaction'],
  },
  {
    name: 'remove of nothing',
    call: (store, at) => store.remove({ ...at, scope: 'scope' }),
    commands: ['findAndModify', 'commitTransaction'],
  },
  {
    name: 'update',
    prepare: activate,
    call: (store, at) => store.update({ ...at, scope: 'scope', filename: 'new.png' }),
    commands: ['find', 'update', 'commitTransaction'],
  },
  {
    name: 'update that changes nothing',
    prepare: activate,
    call: (store, at) => store.update({ ...at, scope: 'scope', filename: null }),
    commands: ['find', 'commitTransaction'],
  },
  {
    name: 'transfer',
    prepare: activate,
    call: (store, at) => store.transfer({ ...at, from: 'scope', to: 'other', quota }),
    commands: ['find', 'update', 'commitTransaction'],
  },
  {
    name: 'transfer that ends an attempt with a storage key',
    prepare: async (store, at) => {
      await activate(store, at)
      await reserve(store, at, { storageKey: at.key })
    },
    call: (store, at) => store.transfer({ ...at, from: 'scope', to: 'other', quota }),
    commands: ['find', 'update', 'update', 'commitTransaction'],
  },
  {
    name: 'adopt',
    call: (store, at) => adopt(store, at),
    commands: ['find', 'find', 'update', 'commitTransaction'],
  },
  {
    name: 'adopt of known bytes',
    prepare: adopt,
    call: (store, at) => adopt(store, at),
    commands: ['find', 'find', 'commitTransaction'],
  },
  {
    name: 'findById',
    call: (store) => store.findById({ id: createAttemptId() }),
    commands: ['aggregate'],
  },
  { name: 'a page of 1000 scopes', call: (store) => store.listScopes({ limit: 1000 }), commands: ['find'] },
  {
    name: 'a page of 1000 names in storage',
    call: (store) => store.listStored({ bucket: BUCKET, limit: 1000 }),
    commands: ['aggregate', 'aggregate', 'aggregate'],
  },
  { name: 'getScopeUsage', call: (store) => store.getScopeUsage('scope'), commands: ['find'] },
  { name: 'countByScope', call: (store) => store.countByScope('scope'), commands: ['find'] },
  { name: 'findActive', prepare: activate, call: (store, at) => store.findActive(at), commands: ['find'] },
  { name: 'findPending', prepare: reserve, call: (store, at) => store.findPending(at), commands: ['find'] },
  { name: 'find', prepare: activate, call: (store, at) => store.find(at), commands: ['aggregate'] },
  { name: 'find of nothing', call: (store, at) => store.find(at), commands: ['aggregate'] },
  ...(['active', 'pending', 'deleted'] as const).map((status) => ({
    name: `a page of 1000 ${status} rows`,
    call: (store: StorageObjectStore) => store.listByScope({ scope: 'full', status, limit: 1000 }),
    commands: ['find'],
  })),
  {
    name: 'a page of 1000 live rows',
    call: (store) => store.listByScope({ scope: 'full', limit: 1000 }),
    commands: ['aggregate'],
  },
  { name: 'listExpired', call: (store) => store.listExpired(), commands: ['find'] },
  { name: 'listLeftovers', call: (store) => store.listLeftovers({ limit: 1000 }), commands: ['find'] },
]

describeMongo('commands per call', (url) => {
  for (const driver of [7, 6] as const) {
    const watched = watchedClient(url, {}, driver)
    const { client } = watched
    const take = () => watched.take()
    const db = freshDatabase(client)
    const store = mongoAdapter(db)
    beforeAll(async () => {
      await store.migrate()
      const keys = Array.from({ length: 300 }, (_, i) => ({ bucket: BUCKET, key: `full ${i}` }))
      const inFull = { scope: 'full' }
      await Promise.all(
        keys.map(async (at, i) => {
          await activate(store, at, inFull)
          if (i % 2) await store.remove({ ...at, scope: 'full' })
          await reserve(store, at, inFull)
        }),
      )
    }, 60_000)
    afterAll(async () => {
      await db.dropDatabase()
      await client.close()
    })

    for (const { name, prepare, call, commands } of CALLS) {
      it(`${name} with driver ${driver}: ${commands.join(', ')}`, async () => {
        const at = { bucket: BUCKET, key: createAttemptId() }
        await store.ping()
        await reserve(store, { ...at, key: `${at.key} of the scope` })
        await prepare?.(store, at)
        take()
        await call(store, at)
        expect(take().map(({ name }) => name)).toEqual(commands)
      })
    }

    it(`confirm, without a scope, of an attempt of another process with driver ${driver}: 4 commands`, async () => {
      const at = { bucket: BUCKET, key: createAttemptId() }
      await reserve(store, at)
      const other = mongoAdapter(db)
      await other.getScopeUsage('scope')
      take()
      await other.confirm({ ...at, size: 7, quota })
      expect(take().map(({ name }) => name)).toEqual(['find', 'find', 'update', 'commitTransaction'])
    })

    it(`64 concurrent writes of one scope with driver ${driver}: those that wait for the first share 3 commands`, async () => {
      const keys = Array.from({ length: 65 }, () => ({ bucket: BUCKET, key: createAttemptId() }))
      await store.getScopeUsage('scope')
      take()
      await Promise.all(keys.map((at) => reserve(store, at, { quota })))
      expect(take().map(({ name }) => name)).toEqual([
        ...['find', 'update', 'commitTransaction'],
        ...['find', 'update', 'commitTransaction'],
      ])
    })
  }
})
