import { createStore, type StorageObjectStore, type StoreDriver } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { partsOf } from '../../../src/core/store/store-parts.js'

const ADDED: readonly string[] = [
  'contract',
  'listDueLeftovers',
  'deferLeftover',
] satisfies (keyof StoreDriver)[]

/** Returns a store over a driver that was written for version 1.5: it declares no contract and lacks its methods. */
export function storeOfVersion15(now: () => Date): StorageObjectStore {
  const { driver } = partsOf(memoryAdapter({ now }))!
  const older = Object.fromEntries(Object.entries(driver).filter(([name]) => !ADDED.includes(name)))
  return createStore(older as unknown as StoreDriver, { now })
}
