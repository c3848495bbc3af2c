import { StorageError, type StorageObjectStore, createStore, type StoreDriver } from '../../src/adapter.js'
import { createMemoryDriver } from '../../src/adapters/memory/memory-driver.js'
import { Tables } from '../../src/adapters/memory/tables.js'

interface Context {
  readonly now: () => Date
  readonly events?: boolean | undefined
}

/** Replaces methods of a memory driver over these tables. `isReopened` is `true` for the second store of a place. */
export type Breaking = (
  driver: StoreDriver,
  place: { readonly tables: Tables; readonly isReopened: boolean },
) => Partial<StoreDriver>

export interface MemoryPlaces {
  readonly createStore: (context: Context) => StorageObjectStore
  readonly createEmpty: (context: Context) => StorageObjectStore
  readonly reopen: (store: StorageObjectStore, context: Context) => StorageObjectStore
  readonly tamper: (store: StorageObjectStore, scope: string) => Promise<void>
}

/** What a store sees of a database: the rows, and the version of its schema. */
interface Database {
  readonly tables: Tables
  version: number
}

/** Memory stores that share their rows, and that need `migrate()` as stores of a database do. */
export function memoryPlaces(broken: Breaking = () => ({})): MemoryPlaces {
  const databases = new WeakMap<StorageObjectStore, Database>()

  function open(database: Database, { now, events }: Context, isReopened: boolean): StorageObjectStore {
    const { tables } = database
    const driver = withSchema(createMemoryDriver(tables), database, events)
    const store = createStore({ ...driver, ...broken(driver, { tables, isReopened }) }, { now })
    databases.set(store, database)
    return store
  }

  function create({ now, events = false }: Context, version: number): StorageObjectStore {
    return open({ tables: new Tables({ events }), version }, { now }, false)
  }

  return {
    createStore: (context) => create(context, 1),
    createEmpty: (context) => create(context, 0),
    reopen: (store, context) => open(databases.get(store)!, context, true),
    async tamper(store, scope) {
      const { tables } = databases.get(store)!
      const [row] = await createMemoryDriver(tables).list({
        ...{ scope, statuses: ['active'], route: null, before: null, limit: 1 },
        ...{ withMetadata: true, fromPrimary: true },
      })
      const live = tables.liveRows(row!)
      // The usage is charged as if the row before had been smaller.
      const active = { ...live.active!, size: live.active!.size! - 1 }
      const change = {
        before: { ...live, active },
        after: live,
        history: null,
        leftovers: [],
        row: live.active!,
      }
      tables.apply({ ...change, event: null })
    },
  }
}

const NEEDS_NO_SCHEMA = new Set(['contract', 'migrate', 'verify', 'ping', 'close'])

/** Fails every call until `migrate()` has set the version. It also switches events, if the option is given. */
function withSchema(driver: StoreDriver, database: Database, events: boolean | undefined): StoreDriver {
  const guarded = Object.entries(driver).map(([name, method]: [string, unknown]) => {
    if (NEEDS_NO_SCHEMA.has(name) || typeof method !== 'function') return [name, method]
    const call = async (...args: unknown[]): Promise<unknown> => {
      if (database.version > 0) return Reflect.apply(method, driver, args)
      const message = 'The database has no schema. Run migrate().'
      throw new StorageError('DATABASE_UNAVAILABLE', { message, retryable: false })
    }
    return [name, call]
  })
  return {
    ...(Object.fromEntries(guarded) as unknown as StoreDriver),
    async migrate() {
      const from = database.version
      database.version = 1
      if (events !== undefined) Reflect.set(database.tables.events, 'isRecording', events)
      return { from, to: 1 }
    },
    async verify() {
      return database.version > 0 ? [] : ['The schema is missing. Run migrate().']
    },
  }
}
