import type { StorageObjectStore } from './contract.js'
import type { StoreDriver } from './driver.js'

/** What `createStore` made a store of. */
export interface StoreParts {
  readonly driver: StoreDriver
  readonly now: () => Date
}

/** Registered, because the ESM and the CommonJS build are two copies of this module. */
const PARTS = Symbol.for('@svc/db/driver')

/** Lets a store that is put around this one work on its driver, which tells more than the store does. */
export function rememberParts(store: StorageObjectStore, parts: StoreParts): StorageObjectStore {
  return Object.defineProperty(store, PARTS, { value: parts })
}

/** The parts of a store that `createStore` made; `null` of anything else. */
export function partsOf(store: unknown): StoreParts | null {
  if (typeof store !== 'object' || store === null) return null
  return (store as { readonly [PARTS]?: StoreParts })[PARTS] ?? null
}
