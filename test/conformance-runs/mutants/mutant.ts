import { createStore, type StorageObjectStore, type StoreDriver } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { createMemoryDriver } from '../../../src/adapters/memory/memory-driver.js'
import { Tables } from '../../../src/adapters/memory/tables.js'

interface Context {
  readonly now: () => Date
}

/** A store that is broken in one way, which the suite must notice. */
export interface Mutant {
  /** What is wrong with it, as a sentence without its subject. */
  readonly it: string
  readonly createStore: (context: Context) => StorageObjectStore
  /** The tests that must reject it, each of them. */
  readonly caughtBy: readonly string[]
}

const inTurn = (what: string) => `scripts: of calls in turn ${what} come to what the model comes to`
const atOnce = (what: string) =>
  `scripts: of calls at once ${what} come to what the model comes to in some order`

export const SCRIPTS = {
  ofAnything: inTurn('that do anything, with names of all kinds'),
  aboutAttempts: inTurn('about attempts and who may go on with them'),
  aboutLapsing: inTurn('about reservations that lapse'),
  aboutRemoving: inTurn('about what is replaced, removed and left'),
  aboutQuotas: inTurn('about quotas'),
  atOnce: atOnce('that do anything'),
  overOneKey: atOnce('over one key'),
  overAQuota: atOnce('over the rest of a quota'),
  overLapsed: atOnce('over lapsed reservations'),
} as const

/** The memory store with some of its calls replaced. */
export function overStore(
  broken: (store: StorageObjectStore, context: Context) => Partial<StorageObjectStore>,
): Mutant['createStore'] {
  return (context) => {
    const store = memoryAdapter(context)
    return { ...store, ...broken(store, context) }
  }
}

/** The memory store over a driver with some of its calls replaced. */
export function overDriver(broken: (driver: StoreDriver) => Partial<StoreDriver>): Mutant['createStore'] {
  return (context) => storeOver(new Tables(), broken, context)
}

type Change = Parameters<Tables['apply']>[0]

/** The memory store whose tables carry out something else than what was planned. */
export function overChanges(broken: (change: Change) => Change): Mutant['createStore'] {
  class BrokenTables extends Tables {
    override apply(change: Change): string[] {
      return super.apply(broken(change))
    }
  }
  return (context) => storeOver(new BrokenTables(), () => ({}), context)
}

function storeOver(
  tables: Tables,
  broken: (driver: StoreDriver) => Partial<StoreDriver>,
  context: Context,
): StorageObjectStore {
  const driver = createMemoryDriver(tables)
  return createStore({ ...driver, ...broken(driver) }, context)
}
