import type { StorageObjectStore } from '../../src/core/store/contract.js'
import { ConformanceFailure } from './assertions.js'
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

/** Milliseconds that a case, or one run of a script, may take: enough for a store over a network on a busy machine. */
export const TIME_LIMIT = 60_000

/** Not all test runners have a time limit, and a call of a store whose pool is exhausted may never end. */
async function inTime<T>(work: () => Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const expiry = new Promise<never>((_resolve, reject) => {
    const message = `a call of the store, or its creation or end, has taken more than ${TIME_LIMIT / 1000} s`
    timer = setTimeout(() => reject(new ConformanceFailure(message)), TIME_LIMIT)
  })
  return Promise.race([work(), expiry]).finally(() => clearTimeout(timer))
}

export function storeFactory(options: ConformanceOptions): StoreFactory {
  const { createStore, createEmpty } = options

  async function withNewStore<T>(
    create: typeof createStore,
    events: boolean,
    use: (empty: EmptyStore) => Promise<T>,
  ): Promise<T> {
    return inTime(async () => {
      const clock = new ManualClock()
      const store = await create({ now: clock.now, events })
      const place = new Place(options, store, clock.now)
      try {
        return await use({ store, clock, place })
      } finally {
        await place.close()
      }
    })
  }

  return {
    withStore: (events, use) => withNewStore(createStore, events, use),
    withoutSchema: (use) => withNewStore(createEmpty!, false, use),
  }
}
