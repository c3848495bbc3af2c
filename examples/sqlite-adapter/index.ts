import { createStore, type StorageObjectStore, type StoreDriver } from '@svc/db/adapter'
import { Connection } from './connection.ts'
import { eventMethods } from './events.ts'
import { readMethods } from './reads.ts'
import { migrate, verify } from './schema.ts'
import { recount } from './scopes.ts'
import { writeMethods } from './writes.ts'

export interface SqliteAdapterOptions {
  /** The file, which must not hold other tables. It must be on a local disk: SQLite's locks don't work on most network disks. */
  readonly path: string
  /** Whether changes of active objects are recorded as events. `migrate()` stores it in the file. Default: as it is there, at first off. */
  readonly events?: boolean | undefined
  /** How long a write waits for those of other processes, in milliseconds. It blocks its process meanwhile. Default 5000. */
  readonly busyTimeout?: number | undefined
  /** The clock of the store. Default: the system clock. */
  readonly now?: (() => Date) | undefined
}

/** Creates a store over an SQLite file. An example, not a supported adapter. Needs Node 22.18 or later. */
export function sqliteAdapter(options: SqliteAdapterOptions): StorageObjectStore {
  const { path, events = null, busyTimeout = 5000, now } = options
  const connection = new Connection(path, busyTimeout)
  const driver: StoreDriver = {
    ...readMethods(connection),
    ...writeMethods(connection),
    ...eventMethods(connection),
    // Not built yet.
    keep: notBuilt,
    listTemporary: notBuilt,
    endTemporary: notBuilt,
    listArrived: notBuilt,
    reject: notBuilt,
    migrate: async () => migrate(connection, events, busyTimeout),
    verify: async () => verify(connection),
    checkUsage: async (scope) => recount(connection, scope, false),
    repairUsage: async (scope) => recount(connection, scope, true),
    ping: async () => connection.exec('SELECT 1'),
    close: async () => connection.close(),
  }
  return createStore(driver, { now })
}

async function notBuilt(): Promise<never> {
  throw new Error('Not built yet.')
}
