import type { Endpoint } from './http/endpoint.js'
import type { NamedObject } from './http/fields.js'
import type { OperationObserver } from './observer.js'
import type {
  MetadataChanges,
  ObjectMetadata,
  OwnedReference,
  Quota,
  StorageObject,
} from './store/records.js'
import type { Report } from './reporter.js'
import type {
  ConfirmInput,
  RejectInput,
  RemoveInput,
  ReserveInput,
  StorageObjectStore,
} from './store/contract.js'

/** What changes of a record on behalf of its owner, with at least one field. `null` clears the metadata. */
export interface RecordChange {
  readonly filename?: string
  readonly contentType?: string
  readonly metadata?: ObjectMetadata | null
  /** Not together with `metadata`. */
  readonly setMetadata?: MetadataChanges
  /** Only the server sets it. `null`: the object stays. */
  readonly temporarySeconds?: number | null
}

/** Returns the change to make: the given one, or what the upload route of the object makes of it. @throws StorageError to refuse it. */
export type AcceptChange = (
  object: StorageObject,
  change: RecordChange,
  context: { readonly request: Request; readonly scope: string },
) => RecordChange | Promise<RecordChange>

/** What a server passes to its plugins. */
export interface ServerEnvironment {
  readonly basePath: string
  readonly bucket: string
  readonly report: Report
  /** The server's `onOperation`, for handlers that the plugin creates itself. */
  readonly onOperation?: OperationObserver | null | undefined
  readonly now: () => Date
  /** The plugin that keeps records asks this before it changes an object for its owner. Default: every change is accepted. */
  readonly acceptChange?: AcceptChange | undefined
  /** The plugin that keeps records calls this after each change of an active object, so that its events are delivered. */
  readonly changed?: ((object: OwnedReference) => void) | undefined
  /** The plugin that keeps records calls this after a confirm, with the object that it replaced. The promise never rejects. */
  readonly replaced?: ((object: StorageObject) => Promise<void>) | undefined
}

/** A server plugin. Its context becomes the property `id` of the server. */
export interface ServerPlugin<Id extends string = string, Context extends object = object> {
  readonly id: Id
  install(environment: ServerEnvironment): InstalledPlugin<Context>
}

export interface InstalledPlugin<Context extends object = object> {
  /** The value of `server[id]`. */
  readonly context: Context
  readonly endpoints: readonly Endpoint[]
  /** Set by the plugin that keeps records. A server needs exactly one. */
  readonly records?: RecordKeeper
}

/** An operation that `mayRead` can allow for an object of another owner. */
export type ReadOperation = 'download' | 'file' | 'object'

/** Who reads an object, and how. */
export interface ReadCall {
  readonly operation: ReadOperation
  readonly request: Request
  /** `null` if the caller is not signed in. */
  readonly scope: string | null
}

/** Decides who may read which objects: owners, and those whom the application's `mayRead` allows to. */
export interface ReadAccess {
  /** Whether callers who are not signed in may be allowed to read. */
  readonly admitsAnonymous: boolean
  /**
   * Returns the object that the caller named, in any of the given states if it is the caller's own, and only while it is active
   * otherwise.
   *
   * @throws StorageError `OBJECT_NOT_FOUND` if it is missing or hidden from the caller, `UNAUTHORIZED` instead if the caller
   * is not signed in.
   */
  find(named: NamedObject, states: 'active' | 'live', call: ReadCall): Promise<StorageObject>
}

/**
 * What the server needs from the plugin that keeps records. Its own writes call the hooks, after the database has committed the
 * change. Those of `objects` call none. Calls of `s3.files` and of jobs have no request.
 */
export interface RecordKeeper {
  readonly objects: StorageObjectStore
  /** The names of the metadata that clients see. Default: none. */
  readonly visibleMetadata?: readonly string[]
  /** Default: only owners read their objects. */
  readonly readAccess?: ReadAccess
  /** Maximum lifetime of a reservation, in seconds. */
  readonly pendingTtlSeconds: number
  readonly deleteMode: 'soft' | 'hard'
  /** Like `resolveScope`, but returns `null` if the caller is not signed in. Needed if `readAccess` admits such callers. */
  callerOf?(request: Request): Promise<string | null>
  /** Returns the caller's scope. @throws StorageError `UNAUTHORIZED` if the caller is not signed in. */
  resolveScope(request: Request): Promise<string>
  /**
   * Returns the quota of a scope, or `null` for none.
   * @throws StorageError `INTERNAL_ERROR` if the application's function fails.
   */
  quotaOf(scope: string, request?: Request): Promise<Quota | null>
  /** Reserves, then calls `onReserved`. */
  reserve(input: ReserveInput, request?: Request): Promise<StorageObject>
  /** Confirms, then calls `onActivated`, unless an earlier call confirmed the object already or its bytes must be checked first. */
  confirm(input: ConfirmInput, request?: Request): Promise<StorageObject>
  /** Removes, then calls `onDeleted`, if there was an active object. */
  remove(input: RemoveInput, request?: Request): Promise<StorageObject | null>
  /**
   * Removes at most 100 objects past their end, as they were listed, and calls `onDeleted` for each. Those that the application uses are
   * kept. If it can't tell which, `onError` gets the reason, and nothing is removed. Returns the rows that were removed. Default:
   * nothing removes them.
   */
  endTemporary?(
    rows: readonly StorageObject[],
    onError: (error: unknown) => void,
  ): Promise<readonly StorageObject[]>
  /** Rejects an arrived attempt, then calls `onRejected`. */
  reject(input: RejectInput): Promise<StorageObject>
}
