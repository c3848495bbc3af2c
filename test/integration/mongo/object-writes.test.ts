import { StorageError, type StorageObject, type StorageObjectStore } from '@svc/db'
import type { MongoClient } from 'mongodb'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { clientOf, describeMongo, emptyKeys, freshDatabase } from './databases.js'

const BUCKET = 'bucket'
const CLIENTS = 4
const CALLERS = 8
const CALLS = 40
const KEYS = 60
const NAMES = 40
const QUOTA = { maxBytes: 60, maxFiles: 6 }
/** Only the last scope has no quota. Adoptions go there, because they have none. */
const SCOPES = ['a', 'b', 'c', 'bulk'] as const
const EXPECTED = new Set(['KEY_CONFLICT', 'QUOTA_EXCEEDED', 'OBJECT_NOT_FOUND'])

const below = (end: number) => Math.floor(Math.random() * end)
const anyScope = () => SCOPES[below(SCOPES.length)]!
const LIMITED = SCOPES.slice(0, 3) as readonly string[]
const quotaOf = (scope: string) => (LIMITED.includes(scope) ? QUOTA : undefined)
const inAnHour = () => new Date(Date.now() + 3_600_000)

describeMongo('writes of several clients', (url) => {
  const clients: MongoClient[] = Array.from({ length: CLIENTS }, () => clientOf(url))
  const db = freshDatabase(clients[0]!)
  let stores: StorageObjectStore[]
  let prefixes = 0
  let collectionPrefix: string

  beforeEach(async () => {
    collectionPrefix = `race ${++prefixes}.`
    stores = clients.map((client) => mongoAdapter(client.db(db.databaseName), { collectionPrefix }))
    await stores[0]!.migrate()
  })
  afterAll(async () => {
    await db.dropDatabase()
    await Promise.all(clients.map((client) => client.close()))
  })

  it('transfers beside other writes keep quotas, sums and one owner for each key', async () => {
    const counts = new Map<string, number>()
    const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)
    let running = 0

    async function caller(store: StorageObjectStore) {
      running++
      for (let i = 0; i < CALLS; i++) {
        const at = { bucket: BUCKET, key: `key ${below(KEYS)}` }
        const name = CALL_NAMES[below(CALL_NAMES.length)]!
        try {
          if ((await CALLS_BY_NAME[name](store, at)) !== null) count(name)
        } catch (error) {
          if (!(error instanceof StorageError) || !EXPECTED.has(error.code)) throw error
          count(error.code)
        }
      }
      running--
    }

    const race = Promise.all(stores.flatMap((store) => Array.from({ length: CALLERS }, () => caller(store))))
    race.catch(() => (running = 0))
    while (running > 0) await expectInvariants(stores[0]!)
    await race
    await expectInvariants(stores[0]!)

    const rows = (await Promise.all(SCOPES.map((scope) => rowsOf(stores[1]!, scope)))).flat()
    const owners = new Map(rows.map(({ key, scope }) => [key, scope]))
    expect(rows.filter(({ key, scope }) => owners.get(key) !== scope)).toEqual([])
    const stored = await stores[2]!.listStored({ bucket: BUCKET, limit: 1000 })
    expect(stored.flatMap(({ object }) => (object ? [object.key] : [])).sort()).toEqual(
      rows.map(({ key }) => key).sort(),
    )
    const names = stored.map(({ storageKey }) => storageKey)
    expect(names).toEqual([...new Set(names)])
    expect(await emptyKeys(db, collectionPrefix)).toEqual([])
    for (const name of [...CALL_NAMES, 'QUOTA_EXCEEDED', 'KEY_CONFLICT']) {
      expect(counts.get(name), name).toBeGreaterThan(CALLS / 20)
    }
  })

  it('adoptions of the same bytes under different keys of different scopes: one succeeds', async () => {
    for (let round = 0; round < 20; round++) {
      const storageKey = `bytes ${round}`
      const results = await Promise.all(
        stores.map((store, i) =>
          adopt(store, { bucket: BUCKET, key: `${round} of ${i}` }, storageKey, `scope ${i}`),
        ),
      )
      const adopted = results.filter(({ known }) => !known)
      expect(adopted).toHaveLength(1)
      expect(new Set(results.map(({ object }) => object?.id))).toEqual(new Set([adopted[0]!.object!.id]))
    }
    expect(await stores[0]!.checkUsage()).toEqual([])
  })

  it('adoptions of the same bytes in one batch: one succeeds', async () => {
    const [store] = stores
    const keys = Array.from({ length: 20 }, (_, i) => ({ bucket: BUCKET, key: `key ${i}` }))
    // The first write of a scope runs alone, and the others form a batch.
    const first = activate(store!, { bucket: BUCKET, key: 'first' }, 'scope')
    const results = await Promise.all(keys.map((at) => adopt(store!, at, 'bytes', 'scope')))
    await first
    expect(results.filter(({ known }) => !known)).toHaveLength(1)
    expect(new Set(results.map(({ object }) => object?.id)).size).toBe(1)
  })

  it('concurrent transfers in opposite directions all succeed', async () => {
    const keys = Array.from({ length: 30 }, (_, i) => ({ bucket: BUCKET, key: `key ${i}` }))
    await Promise.all(keys.map((at, i) => activate(stores[0]!, at, i % 2 ? 'left' : 'right')))
    const moved = await Promise.all(
      keys.map((at, i) => {
        const [from, to] = i % 2 ? ['left', 'right'] : ['right', 'left']
        return stores[i % CLIENTS]!.transfer({ ...at, from, to })
      }),
    )
    expect(moved.map((row) => row?.scope)).toEqual(keys.map((_, i) => (i % 2 ? 'right' : 'left')))
    expect(await stores[0]!.checkUsage()).toEqual([])
  })

  it('transfers of one batch count against the quota of the receiver one after the other', async () => {
    const keys = Array.from({ length: 10 }, (_, i) => ({ bucket: BUCKET, key: `key ${i}` }))
    await Promise.all(keys.map((at) => activate(stores[0]!, at, 'left')))
    const moves = await Promise.allSettled(
      keys.map((at) => stores[0]!.transfer({ ...at, from: 'left', to: 'right', quota: { maxFiles: 4 } })),
    )
    expect(moves.filter(({ status }) => status === 'fulfilled')).toHaveLength(4)
    expect(await stores[0]!.getScopeUsage('right')).toMatchObject({ files: 4 })
    expect(await stores[0]!.getScopeUsage('left')).toMatchObject({ files: 6 })
  })
})

type At = Readonly<{ bucket: string; key: string }>

const CALLS_BY_NAME = {
  reserve: (store: StorageObjectStore, at: At) => reserve(store, at, anyScope()),
  confirm: (store: StorageObjectStore, at: At) => store.confirm({ ...at, size: 10, quota: QUOTA }),
  replace: (store: StorageObjectStore, at: At) => activate(store, at, anyScope()),
  release: (store: StorageObjectStore, at: At) => store.release(at),
  remove: (store: StorageObjectStore, at: At) => store.remove(at),
  update: (store: StorageObjectStore, at: At) => store.update({ ...at, filename: `${Math.random()}` }),
  adopt: async (store: StorageObjectStore, at: At) => {
    const { known, object } = await adopt(store, at, `adopted ${below(NAMES)}`, 'bulk')
    return known ? null : object
  },
  transfer: (store: StorageObjectStore, at: At) => {
    const to = anyScope()
    return store.transfer({ ...at, from: anyScope(), to, quota: quotaOf(to) })
  },
} satisfies Record<string, (store: StorageObjectStore, at: At) => Promise<StorageObject | null>>

const CALL_NAMES = Object.keys(CALLS_BY_NAME) as (keyof typeof CALLS_BY_NAME)[]

function reserve(store: StorageObjectStore, at: At, scope: string): Promise<StorageObject> {
  return store.reserve({
    ...{ ...at, scope, declaredSize: 10, expiresAt: inAnHour() },
    ...{ storageKey: `upload ${Math.random()}`, quota: quotaOf(scope) },
  })
}

async function activate(store: StorageObjectStore, at: At, scope: string): Promise<StorageObject> {
  const { id } = await reserve(store, at, scope)
  return store.confirm({ ...at, id, size: 10, quota: quotaOf(scope) })
}

function adopt(store: StorageObjectStore, at: At, storageKey: string, scope: string) {
  return store.adopt({ ...at, storageKey, scope, size: 10, createdAt: new Date() })
}

async function expectInvariants(store: StorageObjectStore): Promise<void> {
  expect(await store.checkUsage()).toEqual([])
  for (const { scope, usage } of await store.listScopes()) {
    if (!LIMITED.includes(scope)) continue
    expect(usage.bytes + usage.reservedBytes).toBeLessThanOrEqual(QUOTA.maxBytes)
    expect(usage.files + usage.reservedFiles).toBeLessThanOrEqual(QUOTA.maxFiles)
  }
}

async function rowsOf(store: StorageObjectStore, scope: string): Promise<StorageObject[]> {
  return (await store.listByScope({ scope, limit: 1000 })).objects
}
