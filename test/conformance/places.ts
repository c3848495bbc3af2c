import type { StorageObjectStore } from '../../src/core/store/contract.js'
import { ManualClock } from './clock.js'
import type { ConformanceOptions } from './options.js'

/** Where the suite gets its stores from. */
export interface Places {
  /** Runs something with a store over an empty place and the clock that it goes by, and closes it afterwards. */
  withStore<T>(use: (store: StorageObjectStore, clock: ManualClock) => Promise<T>): Promise<T>
}

export function placesOf({ createStore, close }: ConformanceOptions): Places {
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
