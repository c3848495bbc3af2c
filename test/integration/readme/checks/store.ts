import {
  createAttemptId,
  type AdoptResult,
  type Leftover,
  type ScopeSummary,
  type StorageObject,
  type StorageObjectStore,
  type StoredEvent,
  type StoredItem,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'

const ADOPTED = { scope: 'user:ann', bucket: 'uploads', size: 1, createdAt: new Date('2026-01-01') }

function adopt(store: StorageObjectStore, name: string): Promise<AdoptResult> {
  return store.adopt({ ...ADOPTED, key: name, storageKey: name })
}

interface ObjectsProgram {
  readonly changeObjects: (
    store: StorageObjectStore,
    key: string,
  ) => Promise<Record<'renamed' | 'moved' | 'found', StorageObject | null>>
  readonly markScanned: (store: StorageObjectStore, row: StorageObject) => Promise<StorageObject | null>
  readonly record: (store: StorageObjectStore, name: string, size: number, createdAt: Date) => Promise<string>
}

const changesObjects: SnippetCheck = async (program) => {
  const { changeObjects, markScanned, record } = await run<ObjectsProgram>(program)
  const store = memoryAdapter()
  const row = (name: string) => record(store, name, 1, ADOPTED.createdAt)
  expect(await row('a')).toBe('recorded')
  expect(await row('a')).toBe('already recorded for user:ann')
  const { renamed, moved, found } = await changeObjects(store, 'a')
  expect(renamed).toMatchObject({ filename: 'Report.pdf', contentType: null, scope: 'user:ann' })
  expect(moved).toMatchObject({ scope: 'user:bob', id: renamed!.id })
  expect(found).toEqual(moved)
  expect(await markScanned(store, moved!)).toMatchObject({ metadata: { scanned: 'clean' } })
  expect(await markScanned(store, { ...moved!, attemptId: createAttemptId() })).toBeNull()
  await store.remove({ bucket: 'uploads', key: 'a' })
  expect(await row('a')).toBe('about to be deleted')
}

interface ListsProgram {
  readonly allScopes: (store: StorageObjectStore) => AsyncIterable<ScopeSummary>
  readonly allStored: (store: StorageObjectStore, bucket: string) => AsyncIterable<StoredItem>
  readonly describeItem: (item: StoredItem) => string
}

const listsAll: SnippetCheck = async (program) => {
  const { allScopes, allStored, describeItem } = await run<ListsProgram>(program)
  const store = memoryAdapter({ now: () => ADOPTED.createdAt })
  for (const name of ['a', 'b']) await adopt(store, name)
  await store.transfer({ bucket: 'uploads', key: 'b', from: 'user:ann', to: 'user:bob' })
  await store.remove({ bucket: 'uploads', key: 'a' })
  const scopes: unknown[] = []
  for await (const { scope, counts } of allScopes(store)) scopes.push([scope, counts])
  expect(scopes).toEqual([
    ['user:ann', { active: 0, pending: 0, deleted: 1 }],
    ['user:bob', { active: 1, pending: 0, deleted: 0 }],
  ])
  const items: string[] = []
  for await (const item of allStored(store, 'uploads')) items.push(describeItem(item))
  expect(items).toEqual(['a: left since 2026-01-01T00:00:00.000Z', 'b: user:bob'])
}

interface UpkeepProgram {
  readonly eraseHistory: (store: StorageObjectStore, scope: string) => Promise<number>
  readonly checkLeftovers: (
    store: StorageObjectStore,
    isGone: (leftover: Leftover) => Promise<boolean>,
  ) => Promise<void>
}

const cleansUp: SnippetCheck = async (program) => {
  const { eraseHistory, checkLeftovers } = await run<UpkeepProgram>(program)
  const store = memoryAdapter()
  for (const key of ['a', 'b']) {
    await adopt(store, key)
    await store.remove({ bucket: 'uploads', key })
  }
  const at = { bucket: 'uploads', key: 'c', storageKey: 'c', scope: 'user:ann' }
  const expiresAt = new Date(Date.now() + 60_000)
  await store.reserve({ ...at, declaredSize: 1, expiresAt })
  await store.release(at)
  expect(await eraseHistory(store, 'user:bob')).toBe(0)
  expect(await eraseHistory(store, 'user:ann')).toBe(2)
  await checkLeftovers(store, ({ key }) => Promise.resolve(key === 'a'))
  const left = new Map((await store.listLeftovers()).map(({ key, dueAt }) => [key, dueAt]))
  expect([...left.keys()].sort()).toEqual(['b', 'c'])
  expect(left.get('c')).toEqual(expiresAt)
  expect(left.get('b')!.getTime()).toBeGreaterThan(Date.now() + 3_000_000)
}

interface WorkerProgram {
  readonly deliverDue: (
    store: StorageObjectStore,
    handle: (event: StoredEvent) => Promise<void>,
  ) => Promise<void>
  readonly describeEvent: (event: StoredEvent) => string
  readonly failing: (store: StorageObjectStore, attempts: number) => Promise<string[]>
}

const deliversEvents: SnippetCheck = async (program) => {
  const { deliverDue, describeEvent, failing } = await run<WorkerProgram>(program)
  const store = memoryAdapter({ events: true })
  await adopt(store, 'a')
  await store.transfer({ bucket: 'uploads', key: 'a', from: 'user:ann', to: 'user:bob' })
  await adopt(store, 'b')
  const handled: string[] = []
  const handle = (event: StoredEvent) => {
    if (event.object.key === 'b') return Promise.reject(new Error('no'))
    handled.push(describeEvent(event))
    return Promise.resolve()
  }
  for (let round = 0; round < 3; round++) await deliverDue(store, handle)
  expect(handled).toEqual(['a: activated', 'a: from user:ann to user:bob'])
  expect(await store.countEvents()).toEqual({ waiting: 0, claimed: 0, retrying: 1 })
  expect(await failing(store, 1)).toHaveLength(1)
  expect(await failing(store, 2)).toEqual([])
}

export const storeChecks: SnippetChecks = {
  'docs/store.md#objects.ts': changesObjects,
  'docs/store.md#lists.ts': listsAll,
  'docs/store.md#upkeep.ts': cleansUp,
  'docs/store.md#worker.ts': deliversEvents,
}
