import type { StorageObjectStore } from './contract.js'
import type { StoreDriver } from './driver.js'

/** The driver and clock behind a store, for decorators such as the usage cache. */
export interface StoreParts {
  readonly driver: StoreDriver
  readonly now: () => Date
}

/** A registered symbol, because the ESM and the CommonJS build are two copies of this module. */
const PARTS = Symbol.for('@svc/db/driver')

export function rememberParts(store: StorageObjectStore, parts: StoreParts): StorageObjectStore {
  return Object.defineProperty(store, PARTS, { value: parts })
}

/** Returns the parts of a store that `createStore` created, or `null` for anything else. */
export function partsOf(store: unknown): StoreParts | null {
  return (store as { readonly [PARTS]?: StoreParts } | null | undefined)?.[PARTS] ?? null
}
