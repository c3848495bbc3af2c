import type { StorageObjectStore } from '../../src/core/store/contract.js'
import { ManualClock } from './clock.js'
import { contractOf, type Contract } from './contract.js'
import type { ConformanceOptions } from './options.js'

/** An empty store, its clock, and the contract of its driver. */
export interface EmptyStore {
  readonly store: StorageObjectStore
  readonly clock: ManualClock
  readonly contract: Contract
}

export interface StoreFactory {
  /** Creates an empty store, runs the function with it, and closes the store. */
  withStore<T>(use: (empty: EmptyStore) => Promise<T>): Promise<T>
}

export function storeFactory({ createStore, close }: ConformanceOptions): StoreFactory {
  /** All stores of a suite have the same driver, so only the first one is asked. */
  let contract: Promise<Contract> | undefined
  return {
    async withStore(use) {
      const clock = new ManualClock()
      const store = await createStore({ now: clock.now })
      try {
        contract ??= contractOf(store, clock.now())
        return await use({ store, clock, contract: await contract })
      } finally {
        await close?.(store)
      }
    },
  }
}
