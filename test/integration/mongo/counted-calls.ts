import { createAttemptId, type StorageObject, type StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'

export const BUCKET = 'bucket'
const inAnHour = () => new Date(Date.now() + 3_600_000)

type At = Readonly<{ bucket: string; key: string }>
type Call = (store: StorageObjectStore, at: At) => Promise<unknown>
interface More {
  readonly prepare?: Call
  /** The commands through `mongos`, if they are others. */
  readonly routed?: string
}
export interface CountedCall {
  readonly name: string
  readonly commands: readonly string[]
  readonly call: Call
  readonly prepare: Call | undefined
  readonly routed: readonly string[]
}

const counted = (name: string, commands: string, call: Call, more: More = {}): CountedCall => ({
  ...{ name, call, prepare: more.prepare },
  ...{ commands: commands.split(' '), routed: (more.routed ?? commands).split(' ') },
})

export const reserve = (store: StorageObjectStore, at: At, more: object = {}) =>
  store.reserve({ scope: 'scope', ...at, declaredSize: 5, expiresAt: inAnHour(), route: 'r', ...more })
const activate = async (store: StorageObjectStore, at: At, more: object = {}) => {
  const { id } = await reserve(store, at, more)
  return store.confirm({ ...at, id, size: 5 })
}
const named = (store: StorageObjectStore, at: At) => reserve(store, at, { storageKey: at.key })
const adopt = (store: StorageObjectStore, at: At) =>
  store.adopt({ scope: 'scope', ...at, storageKey: `bytes of ${at.key}`, size: 5, createdAt: new Date() })
const transfer: Call = (store, at) => store.transfer({ ...at, from: 'scope', to: 'other', quota })
const confirm: Call = (store, at) => store.confirm({ ...at, size: 7, scope: 'scope', eTag: 'e', quota })
const list = (scope: string, status?: 'active' | 'pending' | 'deleted') => (store: StorageObjectStore) =>
  store.listByScope({ scope, status, limit: 1000 })
const refusedWith = (call: Promise<unknown>, code: string) => expect(call).rejects.toMatchObject({ code })
export const quota = { maxBytes: 1e9, maxFiles: 1e6 }

const removed: Call = async (store, at) => {
  await activate(store, at)
  await store.remove(at)
}
const replacing: Call = async (store, at) => {
  await activate(store, at)
  await named(store, at)
}
const confirmed: Call = async (store, at) => {
  await reserve(store, at)
  await confirm(store, at)
}

const HOUR = 3600
const OBJECTS = 10
const checked = (store: StorageObjectStore, at: At) =>
  reserve(store, at, { id: at.key, storageKey: at.key, checkSeconds: HOUR })
const arrived: Call = async (store, at) => {
  await checked(store, at)
  await confirm(store, at)
}
const reject: Call = (store, at) => store.reject({ ...at, id: at.key, reason: 'infected' })
const rejected: Call = async (store, at) => {
  await arrived(store, at)
  await reject(store, at)
}
const OF_ALL = { before: new Date('2100-01-01'), limit: 1000 }

/** Counts a call about objects that have an end in an hour. */
function ofTemporary(
  name: string,
  commands: string,
  call: (store: StorageObjectStore, objects: readonly StorageObject[]) => Promise<unknown>,
): CountedCall {
  let objects: readonly StorageObject[] = []
  const prepare: Call = async (store, { bucket, key }) => {
    const keys = Array.from({ length: OBJECTS }, (_, i) => ({ bucket, key: `${key} ${i}` }))
    objects = await Promise.all(keys.map((at) => activate(store, at, { temporarySeconds: HOUR })))
  }
  return counted(name, commands, (store) => call(store, objects), { prepare })
}

export const CALLS: readonly CountedCall[] = [
  counted('reserve of a new key', 'update commitTransaction', (store, at) =>
    reserve(store, at, { quota, storageKey: at.key }),
  ),
  counted('reserve of a new key in a new scope', 'find update commitTransaction', (store, at) =>
    reserve(store, at, { scope: `scope of ${at.key}`, quota }),
  ),
  counted('reserve that replaces a named attempt', 'find update update commitTransaction', reserve, {
    prepare: named,
  }),
  counted(
    'reserve refused because of its key',
    'find commitTransaction',
    (store, at) => refusedWith(reserve(store, at), 'KEY_CONFLICT'),
    { prepare: (store, at) => reserve(store, at, { scope: 'other' }) },
  ),
  counted('reserve refused because of the quota', 'find commitTransaction', (store, at) =>
    refusedWith(reserve(store, at, { quota: { maxBytes: 1 } }), 'QUOTA_EXCEEDED'),
  ),
  counted('confirm of a new key', 'find update commitTransaction', confirm, { prepare: named }),
  counted('repeated confirm', 'find commitTransaction', confirm, { prepare: confirmed }),
  counted(
    'hard remove without a storage key',
    'findAndModify update commitTransaction',
    (store, at) => store.remove({ ...at, scope: 'scope', mode: 'hard' }),
    { prepare: activate },
  ),
  counted(
    'hard remove that records a leftover',
    'findAndModify update update commitTransaction',
    (store, at) => store.remove({ ...at, mode: 'hard' }),
    { prepare: (store, at) => activate(store, at, { storageKey: at.key }) },
  ),
  counted('remove of nothing', 'findAndModify commitTransaction', (store, at) =>
    store.remove({ ...at, scope: 'scope' }),
  ),
  counted(
    'update',
    'find update commitTransaction',
    (store, at) => store.update({ ...at, scope: 'scope', filename: 'new.png' }),
    { prepare: activate },
  ),
  counted(
    'update that changes nothing',
    'find commitTransaction',
    (store, at) => store.update({ ...at, scope: 'scope', filename: null }),
    { prepare: activate },
  ),
  counted('transfer', 'find update commitTransaction', transfer, { prepare: activate }),
  counted('transfer that ends a named attempt', 'find update update commitTransaction', transfer, {
    prepare: replacing,
  }),
  counted('adopt', 'find find update commitTransaction', adopt),
  counted('adopt of known bytes', 'find find commitTransaction', adopt, { prepare: adopt }),
  ofTemporary('keep', 'find update commitTransaction', (store, objects) =>
    store.keep({ scope: 'scope', objects }),
  ),
  ofTemporary('keep that is refused', 'find commitTransaction', (store, objects) =>
    refusedWith(
      store.keep({ scope: 'scope', objects: [...objects, { id: createAttemptId() }] }),
      'OBJECT_NOT_FOUND',
    ),
  ),
  ofTemporary(
    'endTemporary of an object whose end lies ahead',
    'find find commitTransaction',
    (store, objects) => store.endTemporary({ objects: objects.slice(0, 1) }),
  ),
  ofTemporary(
    'endTemporary of an object that is kept',
    'find find update commitTransaction',
    (store, [object]) => store.endTemporary({ objects: [object!], keep: [object!.id] }),
  ),
  counted('endTemporary of nothing', 'find', (store, at) => {
    const ids = { id: at.key, attemptId: at.key }
    return store.endTemporary({ objects: [{ ...at, ...ids, temporaryUntil: new Date() }] })
  }),
  counted('confirm that marks an arrival', 'find update commitTransaction', confirm, { prepare: checked }),
  counted(
    'confirm that accepts',
    'find update commitTransaction',
    (store, at) => store.confirm({ ...at, id: at.key, size: 7, accept: true }),
    { prepare: arrived },
  ),
  counted('confirm of an unknown attempt', 'find commitTransaction find', (store, at) =>
    refusedWith(store.confirm({ ...at, id: at.key, scope: 'scope', size: 7 }), 'OBJECT_NOT_FOUND'),
  ),
  counted('reject', 'find find update delete update commitTransaction', reject, { prepare: arrived }),
  counted(
    'confirm of a rejected attempt',
    'find commitTransaction find',
    (store, at) =>
      refusedWith(store.confirm({ ...at, id: at.key, scope: 'scope', size: 7 }), 'UPLOAD_REJECTED'),
    { prepare: rejected },
  ),
  counted('1000 temporary objects', 'find', (store) => store.listTemporary(OF_ALL), { routed: 'find find' }),
  counted('listArrived', 'find', (store) => store.listArrived(), { routed: 'find find' }),
  counted('findById', 'aggregate', (store) => store.findById({ id: createAttemptId() }), {
    routed: 'find find find',
  }),
  counted('1000 scopes', 'find', (store) => store.listScopes({ limit: 1000 }), { routed: 'find find' }),
  counted(
    '1000 names in storage',
    'aggregate aggregate aggregate',
    (store) => store.listStored({ bucket: BUCKET, limit: 1000 }),
    { routed: 'find aggregate find aggregate find aggregate' },
  ),
  counted('getScopeUsage', 'find', (store) => store.getScopeUsage('scope')),
  counted('countByScope', 'find', (store) => store.countByScope('scope')),
  counted('findActive', 'find', (store, at) => store.findActive(at), { prepare: activate }),
  counted('findPending', 'find', (store, at) => store.findPending(at), { prepare: reserve }),
  counted('find', 'aggregate', (store, at) => store.find(at), { prepare: activate, routed: 'find' }),
  ...[removed, async () => {}].map((prepare) =>
    counted(
      `find of ${prepare === removed ? 'a deleted object' : 'nothing'}`,
      'aggregate',
      (store, at) => store.find(at),
      {
        ...{ prepare, routed: 'find find find' },
      },
    ),
  ),
  ...(['active', 'pending', 'deleted'] as const).map((status) =>
    counted(`1000 ${status} rows`, 'find', list('full', status), { routed: 'find find' }),
  ),
  counted('1000 live rows, few pending', 'aggregate', list('scope'), { routed: 'find find find' }),
  counted('1000 live rows, many pending', 'aggregate aggregate', list('full'), { routed: 'find find find' }),
  counted('listExpired', 'find', (store) => store.listExpired(), { routed: 'find find' }),
  counted('listLeftovers', 'find', (store) => store.listLeftovers({ limit: 1000 }), { routed: 'find find' }),
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
