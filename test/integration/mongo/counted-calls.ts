import { createAttemptId, type StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'

export const BUCKET = 'bucket'
const inAnHour = () => new Date(Date.now() + 3_600_000)

export interface CountedCall {
  readonly name: string
  readonly prepare?: (store: StorageObjectStore, at: { bucket: string; key: string }) => Promise<unknown>
  readonly call: (store: StorageObjectStore, at: { bucket: string; key: string }) => Promise<unknown>
  readonly commands: readonly string[]
  /** The commands through `mongos`, if they are others. */
  readonly routed?: readonly string[]
}

export const reserve = (store: StorageObjectStore, at: { bucket: string; key: string }, more: object = {}) =>
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
export const quota = { maxBytes: 1e9, maxFiles: 1e6 }

export const CALLS: readonly CountedCall[] = [
  {
    name: 'reserve of a new key',
    call: (store, at) => reserve(store, at, { quota, storageKey: at.key }),
    commands: ['update', 'commitTransaction'],
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
    routed: ['find', 'find', 'find'],
  },
  {
    name: 'a page of 1000 scopes',
    call: (store) => store.listScopes({ limit: 1000 }),
    commands: ['find'],
    routed: ['find', 'find'],
  },
  {
    name: 'a page of 1000 names in storage',
    call: (store) => store.listStored({ bucket: BUCKET, limit: 1000 }),
    commands: ['aggregate', 'aggregate', 'aggregate'],
    routed: ['find', 'aggregate', 'find', 'aggregate', 'find', 'aggregate'],
  },
  { name: 'getScopeUsage', call: (store) => store.getScopeUsage('scope'), commands: ['find'] },
  { name: 'countByScope', call: (store) => store.countByScope('scope'), commands: ['find'] },
  { name: 'findActive', prepare: activate, call: (store, at) => store.findActive(at), commands: ['find'] },
  { name: 'findPending', prepare: reserve, call: (store, at) => store.findPending(at), commands: ['find'] },
  {
    name: 'find',
    prepare: activate,
    call: (store, at) => store.find(at),
    commands: ['aggregate'],
    routed: ['find'],
  },
  {
    name: 'find of a deleted object',
    prepare: async (store, at) => {
      await activate(store, at)
      await store.remove(at)
    },
    call: (store, at) => store.find(at),
    commands: ['aggregate'],
    routed: ['find', 'find', 'find'],
  },
  {
    name: 'find of nothing',
    call: (store, at) => store.find(at),
    commands: ['aggregate'],
    routed: ['find', 'find', 'find'],
  },
  ...(['active', 'pending', 'deleted'] as const).map((status) => ({
    name: `a page of 1000 ${status} rows`,
    call: (store: StorageObjectStore) => store.listByScope({ scope: 'full', status, limit: 1000 }),
    commands: ['find'],
    routed: ['find', 'find'],
  })),
  {
    name: 'a page of 1000 live rows, of which few are pending',
    call: (store) => store.listByScope({ scope: 'scope', limit: 1000 }),
    commands: ['aggregate'],
    routed: ['find', 'find', 'find'],
  },
  {
    name: 'a page of 1000 live rows, of which many are pending',
    call: (store) => store.listByScope({ scope: 'full', limit: 1000 }),
    commands: ['aggregate', 'aggregate'],
    routed: ['find', 'find', 'find'],
  },
  {
    name: 'listExpired',
    call: (store) => store.listExpired(),
    commands: ['find'],
    routed: ['find', 'find'],
  },
  {
    name: 'listLeftovers',
    call: (store) => store.listLeftovers({ limit: 1000 }),
    commands: ['find'],
    routed: ['find', 'find'],
  },
]

/** Fills the scope `full`, whose pages the calls list. */
export async function fillScope(store: StorageObjectStore): Promise<void> {
  const keys = Array.from({ length: 300 }, (_, i) => ({ bucket: BUCKET, key: `full ${i}` }))
  const inFull = { scope: 'full' }
  await Promise.all(
    keys.map(async (at, i) => {
      await activate(store, at, inFull)
      if (i % 2) await store.remove({ ...at, scope: 'full' })
      await reserve(store, at, inFull)
    }),
  )
}

/** Prepares a call and makes it between two uses of `take`, so that the second one returns its commands. */
export async function makeCall(
  store: StorageObjectStore,
  { prepare, call }: CountedCall,
  take: () => readonly { readonly name: string }[],
): Promise<string[]> {
  const at = { bucket: BUCKET, key: createAttemptId() }
  await store.ping()
  await reserve(store, { ...at, key: `${at.key} of the scope` })
  await prepare?.(store, at)
  take()
  await call(store, at)
  return take().map(({ name }) => name)
}
