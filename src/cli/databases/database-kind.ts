import type { StorageObjectStore } from '../../index.js'

export interface OpenOptions {
  /** The driver's own URL, password and all. */
  readonly url: string
  /** What the adapter's tables or collections are named by; `null`: its default. */
  readonly place: string | null
  readonly connectTimeoutMs: number
}

/** A store over a connection that this program owns. */
export interface OpenDatabase {
  readonly store: StorageObjectStore
  close(): Promise<void>
}

/** One kind of database that the command can work on. */
export interface DatabaseKind {
  readonly name: string
  /** Of its URLs, such as `postgres:`. */
  readonly protocols: readonly string[]
  /** Where its URL is looked for when none is given. */
  readonly variable: string
  /** The option that says where in the database the library's things are. */
  readonly placeOption: 'schema' | 'prefix'
  /** Connects no sooner than it must. @throws WrongCall for bad options, and where the driver isn't installed. */
  open(options: OpenOptions): Promise<OpenDatabase>
}
