import type { Endpoint } from './http/endpoint.js'
import type { OperationObserver } from './observer.js'
import type { Quota, StorageObject } from './store/records.js'
import type { Report } from './reporter.js'
import type { ConfirmInput, RemoveInput, ReserveInput, StorageObjectStore } from './store/contract.js'

/** What a server tells its plugins. */
export interface ServerEnvironment {
  readonly basePath: string
  readonly bucket: string
  readonly report: Report
  /** What goes around each operation; handlers of a plugin's own pass it on. */
  readonly onOperation?: OperationObserver | null | undefined
  readonly now: () => Date
}

/** A part of a server: `id` is the name under which its context stands on the server. */
export interface ServerPlugin<Id extends string = string, Context extends object = object> {
  readonly id: Id
  install(environment: ServerEnvironment): InstalledPlugin<Context>
}

export interface InstalledPlugin<Context extends object = object> {
  /** What the application finds at `server[id]`. */
  readonly context: Context
  readonly endpoints: readonly Endpoint[]
  /** Set by the plugin that keeps the records; a server needs exactly one. */
  readonly records?: RecordKeeper
}

/** What the server asks of the plugin that keeps records. Each act calls the application's hook after the database has it. */
export interface RecordKeeper {
  readonly objects: StorageObjectStore
  /** How long a reservation may last, in seconds. */
  readonly pendingTtlSeconds: number
  readonly deleteMode: 'soft' | 'hard'
  /** The caller. @throws StorageError `UNAUTHORIZED` where there is none. */
  resolveScope(request: Request): Promise<string>
  /** The quota of a scope; `null`: none. @throws StorageError `INTERNAL_ERROR` where the application's function fails. */
  quotaOf(scope: string, request: Request): Promise<Quota | null>
  /** Then `onReserved`. */
  reserve(input: ReserveInput, request: Request): Promise<StorageObject>
  /** Then `onActivated`, unless the object turns out to have been confirmed before. */
  confirm(input: ConfirmInput, request?: Request): Promise<StorageObject>
  /** Then `onDeleted`, if there was an active object. */
  remove(input: RemoveInput, request: Request): Promise<StorageObject | null>
}
