import type { StorageObjectStore } from '../index.js'
import type { FoundDatabase } from './databases/find-database.js'
import type { Interruption } from './interruption.js'
import type { Output } from './output/output.js'

/** What a command works with while it is connected. */
export interface Session {
  readonly store: StorageObjectStore
  readonly database: FoundDatabase
  readonly output: Output
  readonly interruption: Interruption
}
