import { createStore } from '../../core/store/create-store.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { createMemoryDriver } from './memory-driver.js'
import { seed, type SeedObject } from './seed.js'
import { Tables } from './tables.js'

export type { SeedObject } from './seed.js'

export interface MemoryAdapterOptions {
  /** The clock of the store. Default: the system's. */
  readonly now?: (() => Date) | null | undefined
  /** Records to begin with. */
  readonly objects?: readonly SeedObject[] | null | undefined
}

/**
 * A store in the memory of this process: the same answers as from a database, gone when the process ends. For tests,
 * and for trying things out.
 *
 * @throws StorageError `VALIDATION_ERROR` for a record in `objects` that the contract doesn't allow.
 */
export function memoryAdapter(options: MemoryAdapterOptions = {}): StorageObjectStore {
  const now = options.now ?? (() => new Date())
  const tables = new Tables()
  seed(tables, options.objects ?? [], new Date(now()))
  return createStore(createMemoryDriver(tables), { now })
}
