import type { StorageObjectStore } from '../../src/core/store/contract.js'
import { ManualClock } from './clock.js'
import type { ConformanceOptions } from './options.js'
import { Place } from './place.js'

/** An empty store and its clock. */
export interface EmptyStore {
  readonly store: StorageObjectStore
  readonly clock: ManualClock
  readonly place: Place
}

export interface StoreFactory {
  /** Creates an empty store, runs the function with it, and closes the store. `events` says whether it records events. */
  withStore<T>(events: boolean, use: (empty: EmptyStore) => Promise<T>): Promise<T>
  /** The same with a store on a place that was never migrated. */
  withoutSchema<T>(use: (empty: EmptyStore) => Promise<T>): Promise<T>
}

export function storeFactory(options: ConformanceOptions): StoreFactory {
  const { createStore, createEmpty } = options

  async function withNewStore<T>(
    create: typeof createStore,
    events: boolean,
    use: (empty: EmptyStore) => Promise<T>,
  ): Promise<T> {
    const clock = new ManualClock()
    const store = await create({ now: clock.now, events })
    const place = new Place(options, store, clock.now)
    try {
      return await use({ store, clock, place })
    } finally {
      await place.close()
    }
  }

  return {
    withStore: (events, use) => withNewStore(createStore, events, use),
    withoutSchema: (use) => withNewStore(createEmpty!, false, use),
  }
}
