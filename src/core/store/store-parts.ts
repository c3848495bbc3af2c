import type { ConfirmInput, StorageObjectStore } from './contract.js'
import type { Confirmed, StoreDriver } from './driver.js'

/** The driver and clock behind a store, for decorators such as the usage cache. */
export interface StoreParts {
  readonly driver: StoreDriver
  readonly now: () => Date
}

/** A registered symbol, because the ESM and the CommonJS build are two copies of this module. */
const PARTS = Symbol.for('@svc/db/driver')

/** Confirms like the store, and returns all that the driver knows about it. */
export type ConfirmInFull = (input: ConfirmInput) => Promise<Confirmed>

const IN_FULL = Symbol.for('@svc/db/confirm-in-full')

/** Makes the `confirm` of a store from one that returns more. Unlike the parts of a store, it goes where somebody wraps `confirm`. */
export function confirmFrom(inFull: ConfirmInFull): StorageObjectStore['confirm'] {
  const confirm: StorageObjectStore['confirm'] = async (input) => (await inFull(input)).row
  return Object.defineProperty(confirm, IN_FULL, { value: inFull })
}

/** Returns what {@link confirmFrom} has remembered, or `null` if somebody has replaced the `confirm` of the store. */
export function confirmInFullOf({ confirm }: Pick<StorageObjectStore, 'confirm'>): ConfirmInFull | null {
  return (confirm as { readonly [IN_FULL]?: ConfirmInFull })[IN_FULL] ?? null
}

export function rememberParts(store: StorageObjectStore, parts: StoreParts): StorageObjectStore {
  return Object.defineProperty(store, PARTS, { value: parts })
}

/** Returns the parts of a store that `createStore` created, or `null` for anything else. */
export function partsOf(store: unknown): StoreParts | null {
  return (store as { readonly [PARTS]?: StoreParts } | null | undefined)?.[PARTS] ?? null
}
