import type { StorageObjectStore } from '@svc/db'
import { createAttemptId as newId } from '@svc/db'

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
    storageKey: `${key}/${newId()}`,
    ...more,
  })
  const object = async (store: StorageObjectStore, key: string) => {
    await store.reserve(reserve(key))
    await store.confirm({ ...at(key), size: 10, eTag: 'e' })
  }
  const quota = { maxBytes: Number.MAX_SAFE_INTEGER, maxFiles: Number.MAX_SAFE_INTEGER }
  const adoption = (key: string, storageKey: string) => ({
    scope,
    ...at(key),
    storageKey,
    size: 10,
    createdAt: now(),
  })
  const [id, attemptId, objectId, namedId] = [newId(), newId(), newId(), newId()]
  const [deletedId, replacedId] = [newId(), newId()]

  const call = (name: string, make: NamedCall['call'], prepare?: NamedCall['prepare']): NamedCall => ({
    ...{ name, call: make },
    ...(prepare && { prepare }),
  })
  const reserving = (key: string, more?: object) => async (store: StorageObjectStore) => {
    await store.reserve(reserve(key, more))
  }
  const deleted = (id: string, replaced?: 'replaced') => async (store: StorageObjectStore) => {
    await store.reserve(reserve(id, { id }))
    await store.confirm({ ...at(id), size: 10 })
    if (replaced) await object(store, id)
    await store.remove(at(id))
  }
  const [rejectedId, arrivedId, keptIds] = [newId(), newId(), [newId(), newId(), newId()]]
  const arrived = (key: string, id: string) => async (store: StorageObjectStore) => {
    await store.reserve(reserve(key, { id, checkSeconds: 60 }))
    await store.confirm({ ...at(key), size: 10, eTag: 'e' })
  }
  const endedId = newId()
  let end = now()
  /** The end is not over for long enough, so only a call that keeps the object changes it. */
  const ends = (keep: readonly string[]) => ({
    objects: [{ ...at('ended'), id: endedId, attemptId: endedId, temporaryUntil: end }],
    keep,
  })
  const active = (key: string) => (store: StorageObjectStore) => object(store, key)
  return [
    call('reserve', (store) => store.reserve(reserve('new', { quota, metadata: { a: 'b' } }))),
    call('reserve again', (store) => store.reserve(reserve('new', { quota }))),
    call('reserve, refused', (store) =>
      store.reserve(reserve('no', { quota: { maxBytes: 0 } })).catch(() => {}),
    ),
    call('confirm', (store) => store.confirm({ ...at('new'), size: 10, quota })),
    call(
      'confirm a replacement that grew',
      (store) => store.confirm({ ...at('new'), size: 20, quota }),
      reserving('new'),
    ),
    call(
      'setUploadId',
      (store) => store.setUploadId({ ...at('parts'), id, uploadId: 'u' }),
      reserving('parts', { id }),
    ),
    call('findPending', (store) => store.findPending({ ...at('parts'), id, uploadId: 'u' })),
    call('findPendingMultipart', (store) => store.findPendingMultipart({ ...at('parts'), fileSize: 10 })),
    call('release', (store) => store.release({ ...at('parts'), id, scope })),
    call('find', (store) => store.find(at('new'))),
    call('findActive', (store) => store.findActive(at('new'))),
    call('find of a scope', (store) => store.find({ ...at('new'), scope })),
    call('find of another scope', (store) => store.find({ ...at('new'), scope: 'another' })),
    call('findActive of a scope', (store) => store.findActive({ ...at('new'), scope })),
    call('findPending of a scope', (store) => store.findPending({ ...at('new'), scope }), reserving('new')),
    call('remove', (store) => store.remove({ ...at('new'), scope }), reserving('new')),
    call('find history', (store) => store.find(at('new'))),
    call('remove for good', (store) => store.remove({ ...at('hard'), mode: 'hard' }), active('hard')),
    call(
      'remove a pending attempt',
      (store) => store.remove({ ...at('attempt'), attemptId }),
      reserving('attempt', { id: attemptId }),
    ),
    call(
      'remove an attempt that is not there',
      (store) => store.remove({ ...at('attempt'), attemptId }),
      active('attempt'),
    ),
    ...([undefined, 'pending', 'active', 'deleted'] as const).flatMap((status) => {
      const list = { scope, status, limit: 10 }
      return [
        call(`listByScope ${status}`, (store) => store.listByScope(list)),
        call(`listByScope ${status}, without metadata`, (store) =>
          store.listByScope({ ...list, withMetadata: false }),
        ),
        call(`listByScope ${status}, one route`, (store) => store.listByScope({ ...list, route: 'photos' })),
        call(`countByScope ${status}`, (store) => store.countByScope(scope, status)),
      ]
    }),
    call(
      'update',
      (store) => store.update({ ...at('changed'), scope, filename: 'a.txt', metadata: { a: 'b' } }),
      active('changed'),
    ),
    call('update of nothing', (store) => store.update({ ...at('nothing'), contentType: null })),
    call(
      'transfer',
      (store) => store.transfer({ ...at('changed'), from: scope, to: `${scope} too`, quota }),
      reserving('changed'),
    ),
    call('transfer, refused', (store) =>
      store
        .transfer({ ...at('changed'), from: `${scope} too`, to: scope, quota: { maxFiles: 0 } })
        .catch(() => {}),
    ),
    call('adopt', (store) => store.adopt(adoption('adopted', `${scope}/elsewhere`))),
    call('adopt known bytes', (store) => store.adopt(adoption('adopted too', `${scope}/elsewhere`))),
    call(
      'adopt the bytes of an attempt',
      (store) => store.adopt(adoption('adopted too', `${scope}/named~${namedId}`)),
      reserving('named', { id: namedId, storageKey: `${scope}/named~${namedId}` }),
    ),
    call(
      'adopt bytes for an object without',
      (store) => store.adopt(adoption('without', `${scope}/received`)),
      async (store) => {
        await store.reserve(reserve('without', { storageKey: null }))
        await store.confirm({ ...at('without'), size: 10 })
      },
    ),
    call('reserve with terms', (store) =>
      store.reserve(reserve('terms', { temporarySeconds: 60, checkSeconds: 60 })),
    ),
    call('confirm that arrives', (store) => store.confirm({ ...at('terms'), size: 10, eTag: 'e' })),
    call('find an arrived attempt', (store) => store.find(at('terms'))),
    call('confirm that accepts', (store) =>
      store.confirm({ ...at('terms'), size: 10, eTag: 'e', accept: true }),
    ),
    call('find a temporary object', (store) => store.find(at('terms'))),
    call('update an end', (store) => store.update({ ...at('terms'), temporarySeconds: 1 })),
    call(
      'reject',
      (store) => store.reject({ ...at('rejected'), id: rejectedId, reason: 'a virus' }),
      arrived('rejected', rejectedId),
    ),
    call('confirm a rejected attempt, refused', (store) =>
      store.confirm({ ...at('rejected'), id: rejectedId, size: 10 }).catch(() => {}),
    ),
    call(
      'keep',
      (store) => store.keep({ scope, objects: keptIds.map((id) => ({ id })) }),
      async (store) => {
        for (const id of keptIds) {
          await store.reserve(reserve(id, { id, temporarySeconds: 60 }))
          await store.confirm({ ...at(id), size: 10 })
        }
      },
    ),
    call('keep nothing, refused', (store) =>
      store.keep({ scope, objects: [{ id: rejectedId }] }).catch(() => {}),
    ),
    call(
      'keep an arrived attempt',
      (store) => store.keep({ scope, objects: [{ id: arrivedId }] }),
      arrived('arrived', arrivedId),
    ),
    call(
      'endTemporary',
      (store) => store.endTemporary(ends([])),
      async (store) => {
        await store.reserve(reserve('ended', { id: endedId, temporarySeconds: 60 }))
        const { temporaryUntil } = await store.confirm({ ...at('ended'), size: 10 })
        end = temporaryUntil!
      },
    ),
    call('endTemporary that keeps', (store) => store.endTemporary(ends([endedId]))),
    call('findById', (store) => store.findById({ id: objectId }), reserving('by id', { id: objectId })),
    call(
      'findById of a replaced object',
      (store) => store.findById({ id: objectId, scope }),
      async (store) => {
        await store.confirm({ ...at('by id'), size: 10 })
        await object(store, 'by id')
      },
    ),
    call('listScopes', (store) => store.listScopes({ limit: 10 })),
    call('listScopes after a scope', (store) => store.listScopes({ after: scope, limit: 10 })),
    call('listScopes with a prefix', (store) => store.listScopes({ prefix: 'scope', limit: 10 })),
    call('listScopes with the prefix of none', (store) =>
      store.listScopes({ prefix: 'no scope', limit: 10 }),
    ),
    call('listScopes with a prefix after a scope', (store) =>
      store.listScopes({ prefix: 'scope 1', after: 'scope 10', limit: 10 }),
    ),
    call('listStored', (store) => store.listStored({ bucket: BUCKET, limit: 10 })),
    call('listStored with a prefix', (store) =>
      store.listStored({ bucket: BUCKET, prefix: `${scope}/`, limit: 10 }),
    ),
    call('listStored after a name', (store) =>
      store.listStored({ bucket: BUCKET, after: `${scope}/attempt~`, limit: 10 }),
    ),
    call('getScopeUsage', (store) => store.getScopeUsage(scope)),
    ...[{}, { scope }].flatMap((only) => {
      const suffix = 'scope' in only ? ' of a scope' : ''
      const limit = 10
      return [
        call(`listExpired${suffix}`, (store) => store.listExpired({ ...only, limit })),
        call(`purgeExpired${suffix}`, (store) => store.purgeExpired({ ...only, limit })),
        call(`listLeftovers${suffix}`, (store) => store.listLeftovers({ ...only, limit })),
        call(`listLeftovers that are due${suffix}`, (store) =>
          store.listLeftovers({ ...only, dueBefore: now(), limit }),
        ),
        call(`listTemporary${suffix}`, (store) => store.listTemporary({ ...only, before: later(), limit })),
        call(`listArrived${suffix}`, (store) => store.listArrived({ ...only, limit })),
        call(`listArrived that are due${suffix}`, (store) =>
          store.listArrived({ ...only, dueBefore: now(), limit }),
        ),
        call(`purgeDeleted${suffix}`, (store) => store.purgeDeleted({ ...only, before: now(), limit })),
      ]
    }),
    call('purgeDeleted of an object', (store) => store.purgeDeleted({ id: deletedId }), deleted(deletedId)),
    call(
      'purgeDeleted of a replaced object',
      (store) => store.purgeDeleted({ id: replacedId, scope, before: later() }),
      deleted(replacedId, 'replaced'),
    ),
    call('deferLeftover', (store) => store.deferLeftover({ attemptId: id, until: later() })),
    call('forgetLeftover', (store) => store.forgetLeftover({ attemptId: id })),
    call('ping', (store) => store.ping()),
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
  const id = newId()
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
