import { bucket } from './scopes.mjs'
import { ample, reserve, SIZE } from './store-calls.mjs'

/** The scope with all uploads, and one with none. */
export const HOT = 'user:hot'
export const OTHER = 'user:other'
const LIMIT = 100

/** The calls that walk an index in which dead entries stay while an old snapshot is open. */
export function callsBeside() {
  const before = new Date(Date.now() - 30 * 86_400_000)
  return [
    { name: 'claimEvents, first ones', call: (store) => store.claimEvents({ attempted: false, limit: 8 }) },
    { name: 'claimEvents, retries', call: (store) => store.claimEvents({ attempted: true, limit: 8 }) },
    {
      name: 'claimEvents, first ones of others',
      call: (store) => store.claimEvents({ attempted: false, limit: 8, lastScopes: [HOT] }),
    },
    { name: 'listEvents', call: (store) => store.listEvents({ limit: LIMIT }) },
    { name: 'listExpired', call: (store) => store.listExpired({ limit: LIMIT }) },
    { name: 'listExpired of the scope', call: (store) => store.listExpired({ scope: HOT, limit: LIMIT }) },
    { name: 'purgeExpired', call: (store) => store.purgeExpired({ limit: LIMIT }) },
    { name: 'purgeExpired of the scope', call: (store) => store.purgeExpired({ scope: HOT, limit: LIMIT }) },
    { name: 'purgeDeleted', call: (store) => store.purgeDeleted({ before, limit: LIMIT }) },
    {
      name: 'purgeDeleted of the scope',
      call: (store) => store.purgeDeleted({ before, scope: HOT, limit: LIMIT }),
    },
    { name: 'listTemporary', call: (store) => store.listTemporary({ limit: LIMIT }) },
    {
      name: 'listTemporary of the scope',
      call: (store) => store.listTemporary({ scope: HOT, limit: LIMIT }),
    },
    {
      name: 'listArrived, due',
      call: (store) => store.listArrived({ dueBefore: new Date(), limit: LIMIT }),
    },
    {
      name: 'listArrived of the scope',
      call: (store) => store.listArrived({ scope: HOT, limit: LIMIT }),
    },
    { name: 'listLeftovers', call: (store) => store.listLeftovers({ limit: LIMIT }) },
    {
      name: 'listLeftovers of the scope',
      call: (store) => store.listLeftovers({ scope: HOT, limit: LIMIT }),
    },
    {
      name: 'listLeftovers, due',
      call: (store) => store.listLeftovers({ dueBefore: new Date(), limit: LIMIT }),
    },
    {
      name: 'listLeftovers of the scope, due',
      call: (store) => store.listLeftovers({ scope: HOT, dueBefore: new Date(), limit: LIMIT }),
    },
    {
      name: 'listByScope, pending',
      call: (store) => store.listByScope({ scope: HOT, status: 'pending', limit: LIMIT }),
    },
    {
      name: 'listByScope, pending of a route',
      call: (store) => store.listByScope({ scope: HOT, status: 'pending', route: 'common', limit: LIMIT }),
    },
    {
      name: 'listByScope, active',
      call: (store) => store.listByScope({ scope: HOT, status: 'active', limit: LIMIT }),
    },
    { name: 'listByScope, no status', call: (store) => store.listByScope({ scope: HOT, limit: LIMIT }) },
    {
      name: 'listByScope, deleted',
      call: (store) => store.listByScope({ scope: HOT, status: 'deleted', limit: LIMIT }),
    },
    { name: 'getScopeUsage', call: (store) => store.getScopeUsage(HOT) },
    { name: 'listScopes', call: (store) => store.listScopes({ limit: LIMIT }) },
    { name: 'listStored', call: (store) => store.listStored({ bucket, limit: LIMIT }) },
    { name: 'reserve + release', call: reserveAndRelease },
    { name: 'reserve + confirm + reject, other scope', call: reject },
  ]
}

async function reject(store) {
  const { key, id } = await reserve(store, OTHER, ample, null, { checkSeconds: 60 })
  await store.confirm({ bucket, key, id, scope: OTHER, size: SIZE, eTag: 'e', quota: ample })
  await store.reject({ bucket, key, id })
}

async function reserveAndRelease(store) {
  const { key, id } = await reserve(store, HOT, ample)
  await store.release({ bucket, key, id, scope: HOT })
}
