import type { StorageObjectStore } from '../../src/core/store/contract.js'
import { abilitiesOf, type Abilities } from './abilities.js'
import { ManualClock } from './clock.js'
import type { ConformanceOptions } from './options.js'

/** An empty store, its clock, and what its driver supports. */
export interface EmptyStore {
  readonly store: StorageObjectStore
  readonly clock: ManualClock
  readonly abilities: Abilities
}

export interface StoreFactory {
  /** Finds out what the stores support, with a store of its own. */
  abilities(): Promise<Abilities>
  /** Creates an empty store, runs the function with it, and closes the store. `events` says whether it records events. */
  withStore<T>(events: boolean, use: (empty: EmptyStore) => Promise<T>): Promise<T>
}

export function storeFactory({ createStore, close }: ConformanceOptions): StoreFactory {
  let known: Promise<Abilities> | null = null

  async function withNewStore<T>(
    events: boolean,
    use: (store: StorageObjectStore, clock: ManualClock) => Promise<T>,
  ): Promise<T> {
    const clock = new ManualClock()
    const store = await createStore({ now: clock.now, events })
    try {
      return await use(store, clock)
    } finally {
      await close?.(store)
    }
  }

  function abilities(): Promise<Abilities> {
    known ??= withNewStore(true, (store, clock) => abilitiesOf(store, clock.now())).catch(
      (error: unknown) => {
        known = null
        throw error
      },
    )
    return known
  }

  return {
    abilities,
    async withStore(events, use) {
      const found = await abilities()
      return withNewStore(events, (store, clock) => use({ store, clock, abilities: found }))
    },
  }
}
