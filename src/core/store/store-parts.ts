import type { ConfirmInput, SettleEventInput, StorageObjectStore } from './contract.js'
import type { Confirmed, StoreDriver } from './driver.js'
import type { SettledEvent } from './events.js'

/** The driver and clock behind a store, for decorators such as the usage cache. */
export interface StoreParts {
  readonly driver: StoreDriver
  readonly now: () => Date
}

/** A registered symbol, because the ESM and the CommonJS build are two copies of this module. */
const PARTS = Symbol.for('@svc/db/driver')

/** Calls of a store that return less than the driver knows. */
interface CallsInFull {
  readonly confirm: (input: ConfirmInput) => Promise<Confirmed>
  readonly settleEvents: (entries: readonly SettleEventInput[]) => Promise<readonly SettledEvent[]>
}

const IN_FULL = Symbol.for('@svc/db/in-full')

/** Makes a call of the store that returns only a part of what `inFull` returns. An application that wraps the call hides `inFull`. */
export function reduced<Input, Full, Result>(
  inFull: (input: Input) => Promise<Full>,
  reduce: (full: Full) => Result,
): (input: Input) => Promise<Result> {
  const call = async (input: Input) => reduce(await inFull(input))
  return Object.defineProperty(call, IN_FULL, { value: inFull })
}

/** Returns the call behind one that {@link reduced} has made, or `null` if the application has wrapped or replaced it. */
export function inFull<Name extends keyof CallsInFull>(
  store: Pick<StorageObjectStore, Name>,
  name: Name,
): CallsInFull[Name] | null {
  return (store[name] as { readonly [IN_FULL]?: CallsInFull[Name] })[IN_FULL] ?? null
}

export function rememberParts(store: StorageObjectStore, parts: StoreParts): StorageObjectStore {
  return Object.defineProperty(store, PARTS, { value: parts })
}

/** Returns the parts of a store that `createStore` created, or `null` for anything else. */
export function partsOf(store: unknown): StoreParts | null {
  return (store as { readonly [PARTS]?: StoreParts } | null | undefined)?.[PARTS] ?? null
}
