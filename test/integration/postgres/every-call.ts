import type { StorageObjectStore } from '@svc/db'
import { createAttemptId } from '@svc/db'

const BUCKET = 'bucket'

/** A call of the store that must be a single query. */
export interface NamedCall {
  readonly name: string
  /** Creates the rows that the call needs. */
  readonly prepare?: (store: StorageObjectStore) => Promise<void>
  readonly call: (store: StorageObjectStore) => Promise<unknown>
}

/**
 * Returns every call of the store that must be a single query. The calls create their rows themselves and run in order.
 */
export function everyCall(scope: string, now: () => Date): NamedCall[] {
  const at = (key: string) => ({ bucket: BUCKET, key: `${scope}/${key}` })
  const later = () => new Date(now().getTime() + 60_000)
  const reserve = (key: string, more: object = {}) => ({
    scope,
    ...at(key),
    declaredSize: 10,
    expiresAt: later(),
    route: 'photos',
    storageKey: `${key}/${createAttemptId()}`,
    ...more,
  })
  const object = async (store: StorageObjectStore, key: string) => {
    await store.reserve(reserve(key))
    await store.confirm({ ...at(key), size: 10, eTag: 'e' })
  }
  const pending = (key: string) => async (store: StorageObjectStore) => {
    await store.reserve(reserve(key))
  }
  const quota = { maxBytes: Number.MAX_SAFE_INTEGER, maxFiles: Number.MAX_SAFE_INTEGER }
  const adoption = (key: string, storageKey: string) => ({
    scope,
    ...at(key),
    storageKey,
    size: 10,
    createdAt: now(),
  })
  const [id, attemptId, objectId, namedId] = Array.from({ length: 4 }, createAttemptId) as [
    string,
    string,
    string,
    string,
  ]

  return [
    { name: 'reserve', call: (store) => store.reserve(reserve('new', { quota, metadata: { a: 'b' } })) },
    { name: 'reserve again', call: (store) => store.reserve(reserve('new', { quota })) },
    {
      name: 'reserve, refused',
      call: (store) => store.reserve(reserve('no', { quota: { maxBytes: 0 } })).catch(() => {}),
    },
    { name: 'confirm', call: (store) => store.confirm({ ...at('new'), size: 10, quota }) },
    {
      name: 'confirm a replacement that grew',
      prepare: pending('new'),
      call: (store) => store.confirm({ ...at('new'), size: 20, quota }),
    },
    {
      name: 'setUploadId',
      prepare: async (store) => void (await store.reserve(reserve('parts', { id }))),
      call: (store) => store.setUploadId({ ...at('parts'), id, uploadId: 'u' }),
    },
    { name: 'findPending', call: (store) => store.findPending({ ...at('parts'), id, uploadId: 'u' }) },
    {
      name: 'findPendingMultipart',
      call: (store) => store.findPendingMultipart({ ...at('parts'), fileSize: 10 }),
    },
    { name: 'release', call: (store) => store.release({ ...at('parts'), id, scope }) },
    { name: 'find', call: (store) => store.find(at('new')) },
    { name: 'findActive', call: (store) => store.findActive(at('new')) },
    { name: 'find of a scope', call: (store) => store.find({ ...at('new'), scope }) },
    { name: 'find of another scope', call: (store) => store.find({ ...at('new'), scope: 'another' }) },
    { name: 'findActive of a scope', call: (store) => store.findActive({ ...at('new'), scope }) },
    {
      name: 'findPending of a scope',
      prepare: pending('new'),
      call: (store) => store.findPending({ ...at('new'), scope }),
    },
    { name: 'remove', prepare: pending('new'), call: (store) => store.remove({ ...at('new'), scope }) },
    { name: 'find history', call: (store) => store.find(at('new')) },
    {
      name: 'remove for good',
      prepare: (store) => object(store, 'hard'),
      call: (store) => store.remove({ ...at('hard'), mode: 'hard' }),
    },
    {
      name: 'remove a pending attempt',
      prepare: async (store) => void (await store.reserve(reserve('attempt', { id: attemptId }))),
      call: (store) => store.remove({ ...at('attempt'), attemptId }),
    },
    {
      name: 'remove an attempt that is not there',
      prepare: (store) => object(store, 'attempt'),
      call: (store) => store.remove({ ...at('attempt'), attemptId }),
    },
    ...([undefined, 'pending', 'active', 'deleted'] as const).flatMap((status) => [
      {
        name: `listByScope ${status}`,
        call: (store: StorageObjectStore) => store.listByScope({ scope, status, limit: 10 }),
      },
      {
        name: `listByScope ${status}, without metadata`,
        call: (store: StorageObjectStore) =>
          store.listByScope({ scope, status, limit: 10, withMetadata: false }),
      },
      {
        name: `listByScope ${status}, one route`,
        call: (store: StorageObjectStore) => store.listByScope({ scope, status, route: 'photos', limit: 10 }),
      },
      {
        name: `countByScope ${status}`,
        call: (store: StorageObjectStore) => store.countByScope(scope, status),
      },
    ]),
    {
      name: 'update',
      prepare: (store) => object(store, 'changed'),
      call: (store) => store.update({ ...at('changed'), scope, filename: 'a.txt', metadata: { a: 'b' } }),
    },
    { name: 'update of nothing', call: (store) => store.update({ ...at('nothing'), contentType: null }) },
    {
      name: 'transfer',
      prepare: pending('changed'),
      call: (store) => store.transfer({ ...at('changed'), from: scope, to: `${scope} too`, quota }),
    },
    {
      name: 'transfer, refused',
      call: (store) =>
        store
          .transfer({ ...at('changed'), from: `${scope} too`, to: scope, quota: { maxFiles: 0 } })
          .catch(() => {}),
    },
    {
      name: 'adopt',
      call: (store) => store.adopt(adoption('adopted', `${scope}/elsewhere`)),
    },
    {
      name: 'adopt known bytes',
      call: (store) => store.adopt(adoption('adopted too', `${scope}/elsewhere`)),
    },
    {
      name: 'adopt the bytes of an attempt',
      prepare: async (store) =>
        void (await store.reserve(
          reserve('named', { id: namedId, storageKey: `${scope}/named~${namedId}` }),
        )),
      call: (store) => store.adopt(adoption('adopted too', `${scope}/named~${namedId}`)),
    },
    {
      name: 'adopt bytes for an object without',
      prepare: async (store) => {
        await store.reserve(reserve('without', { storageKey: null }))
        await store.confirm({ ...at('without'), size: 10 })
      },
      call: (store) => store.adopt(adoption('without', `${scope}/received`)),
    },
    {
      name: 'findById',
      prepare: async (store) => void (await store.reserve(reserve('by id', { id: objectId }))),
      call: (store) => store.findById({ id: objectId }),
    },
    {
      name: 'findById of a replaced object',
      prepare: async (store) => {
        await store.confirm({ ...at('by id'), size: 10 })
        await object(store, 'by id')
      },
      call: (store) => store.findById({ id: objectId, scope }),
    },
    { name: 'listScopes', call: (store) => store.listScopes({ limit: 10 }) },
    { name: 'listScopes after a scope', call: (store) => store.listScopes({ after: scope, limit: 10 }) },
    { name: 'listStored', call: (store) => store.listStored({ bucket: BUCKET, limit: 10 }) },
    {
      name: 'listStored with a prefix',
      call: (store) => store.listStored({ bucket: BUCKET, prefix: `${scope}/`, limit: 10 }),
    },
    {
      name: 'listStored after a name',
      call: (store) => store.listStored({ bucket: BUCKET, after: `${scope}/attempt~`, limit: 10 }),
    },
    { name: 'getScopeUsage', call: (store) => store.getScopeUsage(scope) },
    { name: 'listExpired', call: (store) => store.listExpired({ limit: 10 }) },
    { name: 'listExpired of a scope', call: (store) => store.listExpired({ scope, limit: 10 }) },
    { name: 'purgeExpired', call: (store) => store.purgeExpired({ limit: 10 }) },
    { name: 'purgeExpired of a scope', call: (store) => store.purgeExpired({ scope, limit: 10 }) },
    { name: 'listLeftovers', call: (store) => store.listLeftovers({ limit: 10 }) },
    { name: 'listLeftovers of a scope', call: (store) => store.listLeftovers({ scope, limit: 10 }) },
    {
      name: 'listLeftovers that are due',
      call: (store) => store.listLeftovers({ dueBefore: now(), limit: 10 }),
    },
    {
      name: 'listLeftovers that are due, of a scope',
      call: (store) => store.listLeftovers({ scope, dueBefore: now(), limit: 10 }),
    },
    { name: 'deferLeftover', call: (store) => store.deferLeftover({ attemptId: id, until: later() }) },
    { name: 'forgetLeftover', call: (store) => store.forgetLeftover({ attemptId: id }) },
    { name: 'purgeDeleted', call: (store) => store.purgeDeleted({ before: now(), limit: 10 }) },
    {
      name: 'purgeDeleted of a scope',
      call: (store) => store.purgeDeleted({ scope, before: now(), limit: 10 }),
    },
    { name: 'ping', call: (store) => store.ping() },
  ]
}

/** Returns concurrent writes of one scope: the first two run alone, and the others form a batch. */
export function concurrentWrites(scope: string, now: () => Date): NamedCall {
  const input = (key: string) => ({
    scope,
    bucket: BUCKET,
    key: `${scope}/concurrent/${key}`,
    declaredSize: 10,
    expiresAt: new Date(now().getTime() + 60_000),
    quota: { maxBytes: Number.MAX_SAFE_INTEGER, maxFiles: Number.MAX_SAFE_INTEGER },
  })
  const id = createAttemptId()
  const confirming = { ...input('confirm'), id }
  return {
    name: 'concurrent writes',
    prepare: async (store) => void (await store.reserve(confirming)),
    call: (store) =>
      Promise.all([
        ...['a', 'b', 'c', 'd'].map((key) => store.reserve(input(key))),
        store.confirm({ bucket: BUCKET, key: confirming.key, id, scope, size: 20 }),
        ...['e', 'f', 'g', 'h'].map((key) => {
          const { key: storageKey } = input(key)
          return store.adopt({
            scope,
            bucket: BUCKET,
            key: storageKey,
            storageKey,
            size: 1,
            createdAt: now(),
          })
        }),
      ]),
  }
}
