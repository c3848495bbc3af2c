import type { StorageObjectStore } from '../../src/core/store/contract.js'
import { ManualClock } from './clock.js'
import type { ConformanceOptions } from './options.js'

export interface StoreFactory {
  /** Creates an empty store with a clock, runs the function with both, and closes the store. */
  withStore<T>(use: (store: StorageObjectStore, clock: ManualClock) => Promise<T>): Promise<T>
}

export function storeFactory({ createStore, close }: ConformanceOptions): StoreFactory {
  return {
    async withStore(use) {
      const clock = new ManualClock()
      const store = await createStore({ now: clock.now })
      try {
        return await use(store, clock)
      } finally {
        await close?.(store)
      }
    },
  }
}
