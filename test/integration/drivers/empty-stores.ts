import type { StorageObjectStore } from '@svc/db'

export interface StoreContext {
  readonly now: () => Date
  /** Whether events are on. Default: `false`. */
  readonly events?: boolean | undefined
}

/** Places for stores in one database, each with its own name. */
export interface Places {
  /** Returns the name of a place that doesn't exist. */
  readonly newName: () => string
  readonly open: (place: string, context: StoreContext) => StorageObjectStore
  readonly empty: (place: string) => Promise<unknown>
  /** Spoils the recorded usage of a scope. */
  readonly spoil: (place: string, scope: string) => Promise<unknown>
}

/** Creates the stores of a suite that needs hundreds. Each has an empty, migrated place, which a later one uses again. */
export function emptyStores({ newName, open, empty, spoil }: Places) {
  // A place keeps its events on or off.
  const free = { true: [] as string[], false: [] as string[] }
  const switched = new Set<string>()
  const placeOf = new Map<StorageObjectStore, { readonly place: string; readonly events: boolean }>()
  return {
    async createStore({ now, events = false }: StoreContext): Promise<StorageObjectStore> {
      const used = free[`${events}`].pop()
      const place = used ?? newName()
      if (used === undefined) await open(place, { now, events }).migrate()
      else await empty(used)
      const store = open(place, { now })
      placeOf.set(store, { place, events })
      return store
    },
    /** Creates a store on a place that doesn't exist. */
    createEmpty: (context: StoreContext) => open(newName(), context),
    /** Creates a second store on the place of another. */
    reopen(store: StorageObjectStore, context: StoreContext): StorageObjectStore {
      const { place } = placeOf.get(store)!
      // Its events may be switched, so no later store uses the place.
      if (context.events !== undefined) switched.add(place)
      return open(place, context)
    },
    tamper: async (store: StorageObjectStore, scope: string) =>
      void (await spoil(placeOf.get(store)!.place, scope)),
    /** Lets a later store use the place again. */
    close(store: StorageObjectStore): void {
      // Reopened stores share the place of another, and those of `createEmpty` are used once.
      const used = placeOf.get(store)
      if (used && !switched.has(used.place)) free[`${used.events}`].push(used.place)
      placeOf.delete(store)
    },
  }
}
