import type { StorageObjectStore } from '../../src/core/store/contract.js'
import { abilitiesOf, type Abilities } from './abilities.js'
import { ManualClock } from './clock.js'
import type { ConformanceOptions } from './options.js'
import { Place } from './place.js'

/** An empty store, its clock, and what its driver supports. */
export interface EmptyStore {
  readonly store: StorageObjectStore
  readonly clock: ManualClock
  readonly abilities: Abilities
  readonly place: Place
}

export interface StoreFactory {
  /** Finds out what the stores support, with a store of its own. */
  abilities(): Promise<Abilities>
  /** Creates an empty store, runs the function with it, and closes the store. `events` says whether it records events. */
  withStore<T>(events: boolean, use: (empty: EmptyStore) => Promise<T>): Promise<T>
  /** The same with a store on a place that was never migrated. */
  withoutSchema<T>(use: (empty: EmptyStore) => Promise<T>): Promise<T>
}

export function storeFactory(options: ConformanceOptions): StoreFactory {
  const { createStore, createEmpty } = options
  let known: Promise<Abilities> | null = null

  async function withNewStore<T>(
    create: typeof createStore,
    events: boolean,
    use: (made: Omit<EmptyStore, 'abilities'>) => Promise<T>,
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

  function abilities(): Promise<Abilities> {
    known ??= withNewStore(createStore, true, ({ store, clock }) => abilitiesOf(store, clock.now())).catch(
      (error: unknown) => {
        known = null
        throw error
      },
    )
    return known
  }

  async function withAbilities<T>(
    create: typeof createStore,
    events: boolean,
    use: (empty: EmptyStore) => Promise<T>,
  ): Promise<T> {
    const found = await abilities()
    return withNewStore(create, events, (made) => use({ ...made, abilities: found }))
  }

  return {
    abilities,
    withStore: (events, use) => withAbilities(createStore, events, use),
    withoutSchema: (use) => withAbilities(createEmpty!, false, use),
  }
}
