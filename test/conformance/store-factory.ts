import type { StorageObjectStore } from '../../src/core/store/contract.js'
import { CallLimit } from './call-limit.js'
import { ManualClock } from './clock.js'
import { NoResponse } from './failure.js'
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
  /** Returns whether a store of the test has not responded. */
  hasHung(): boolean
}

/** A store that never responds would take hours. */
const MAX_HANGS = 3

/** Returns a function that takes the title of a test and creates its stores. */
export function storeFactories(options: ConformanceOptions): (test: string) => StoreFactory {
  const { createStore, createEmpty } = options
  const failures: NoResponse[] = []

  return (test) => {
    const [first] = failures
    if (first && failures.length >= MAX_HANGS) {
      const message = `Not run, because ${MAX_HANGS} tests had no response. The first: ${first.message}`
      // Hundreds of tests, and their stacks would say nothing.
      throw Object.assign(new NoResponse(message), { stack: '' })
    }
    let hasHung = false

    async function withNewStore<T>(
      create: (context: { readonly now: () => Date }) => StorageObjectStore | Promise<StorageObjectStore>,
      use: (empty: EmptyStore) => Promise<T>,
    ): Promise<T> {
      const limit = new CallLimit(test, failures)
      try {
        const clock = new ManualClock()
        const store = await limit.of('createStore', create({ now: clock.now }))
        const place = new Place(options, store, clock.now, limit)
        const used = use({ store: limit.ofStore(store), clock, place })
        const close = () => place.close()
        const closed = used.then(close, close)
        await Promise.allSettled([closed])
        // If both fail, the error of the test is the one to report.
        const [result] = await Promise.all([used, closed])
        return result
      } finally {
        hasHung ||= limit.hasFailed
        limit.end()
      }
    }

    return {
      withStore: (events, use) => withNewStore((context) => createStore({ ...context, events }), use),
      withoutSchema: (use) => withNewStore(createEmpty!, use),
      hasHung: () => hasHung,
    }
  }
}
