import { namesOf } from '../../core/known-names.js'
import { OptionChecks } from '../../core/option-checks.js'
import { createStore } from '../../core/store/create-store.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { createMemoryDriver } from './memory-driver.js'
import { seed, type SeedObject } from './seed.js'
import { Tables } from './tables.js'

export type { SeedObject } from './seed.js'

export interface MemoryAdapterOptions {
  /** Returns the current time. Default: the system clock. */
  readonly now?: (() => Date) | null | undefined
  /** Seed records. Default: none. */
  readonly objects?: readonly SeedObject[] | null | undefined
  /** Whether changes of active objects are recorded as events, except those of seed records. Default: `false`. */
  readonly events?: boolean | null | undefined
}

const OPTIONS = namesOf<MemoryAdapterOptions>({ now: true, objects: true, events: true })
const checks = new OptionChecks('memoryAdapter')

/**
 * Creates a store in the memory of this process, for tests and for trying things out. It behaves like a database, but
 * loses its data when the process ends.
 *
 * @throws StorageError `VALIDATION_ERROR` if a record in `objects` is invalid.
 * @throws TypeError if another option is invalid.
 *
 * @example
 * import { memoryAdapter } from '@svc/db/memory'
 *
 * const store = memoryAdapter({ now: () => new Date('2026-01-01') })
 */
export function memoryAdapter(options?: MemoryAdapterOptions | null): StorageObjectStore {
  const given = checks.optionalOptions(options, OPTIONS)
  const now = checks.function('now', given.now) ?? (() => new Date())
  const events = checks.boolean('events', given.events) ?? false
  const objects = checks.array('objects', given.objects) ?? []
  const tables = new Tables({ events })
  seed(tables, objects, new Date(now()))
  return createStore(createMemoryDriver(tables), { now })
}
