import { checkBasePath } from '../http/handler.js'
import type { OperationObserver } from '../observer.js'
import type { Quota, StorageObject } from '../store/records.js'
import type { ErrorListener } from '../reporter.js'
import type { ResolveScope } from '../access.js'
import type { StorageObjectStore } from '../store/contract.js'
import type { MayRead } from './read-access.js'
import { checkText, quotaFlaw, shown } from '../store/validation/checks.js'

/** A fixed quota for every scope, or a function that returns the quota of one scope. `null` means unlimited. */
export type QuotaSource = Quota | ((scope: string, request: Request) => Quota | null | Promise<Quota | null>)

/** Hooks run after the database has committed the change, and are awaited. Their errors don't affect the response. Not called exactly once. */
export interface DbHooks {
  readonly onReserved?: ((event: ReservedEvent) => unknown) | null | undefined
  readonly onActivated?: ((event: ActivatedEvent) => unknown) | null | undefined
  readonly onDeleted?: ((event: DeletedEvent) => unknown) | null | undefined
}

export interface ReservedEvent {
  readonly object: StorageObject
  /** Absent if `s3.files` reserved it. */
  readonly request?: Request
}

export interface ActivatedEvent {
  readonly object: StorageObject
  /** The record that was replaced, or `null`. */
  readonly replaced: StorageObject | null
  /** Absent if `s3.files` or `cleanUp` confirmed the object. */
  readonly request?: Request
}

export interface DeletedEvent {
  readonly object: StorageObject
  /** Absent if `s3.files` deleted the object. */
  readonly request?: Request
}

export interface DbOptions {
  readonly client: StorageObjectStore
  readonly resolveScope: ResolveScope
  readonly quota?: QuotaSource | null | undefined
  /**
   * Decides whether a caller may read an active object of another owner, through `GET /download`, `GET /file` and
   * `GET /db/object`. Called only for such objects, also if the caller is not signed in. Any result but `true` hides the
   * object; a thrown `StorageError` keeps its code. Default: only owners read their objects.
   */
  readonly mayRead?: MayRead | null | undefined
  /** Whether `GET /db/usage` returns the caller's usage and quota. Default `false`. */
  readonly usageEndpoint?: boolean | null | undefined
  /** Maximum lifetime of a reservation, in seconds. Default 86400 (one day). */
  readonly pendingTtlSeconds?: number | null | undefined
  /** `soft` keeps deleted objects as history. Default `soft`. */
  readonly deleteMode?: 'soft' | 'hard' | null | undefined
  /** The bucket of calls that name none. On a server, the server's bucket counts. */
  readonly bucket?: string | null | undefined
  readonly hooks?: DbHooks | null | undefined
  /** Path of the endpoints, if `db()` is used without a server. Default `/api/s3`. */
  readonly basePath?: string | null | undefined
  /** Called with every 5xx error and every error of a hook. Default: the server's `onError`, or `console.error`. */
  readonly onError?: ErrorListener | null | undefined
  /** Wraps each operation of `db()` used without a server. Default: the server's `onOperation`, or none. */
  readonly onOperation?: OperationObserver | null | undefined
  /** Returns the current time. Default: the server's clock, or the system clock. */
  readonly now?: (() => Date) | null | undefined
}

const HOOKS = ['onReserved', 'onActivated', 'onDeleted'] as const

/** As in every input of the store, `null` means the same as leaving the option out. */
function given<T>(value: T | null | undefined): value is T & {} {
  return value !== null && value !== undefined
}

/** Checks the options of `db()`. @throws TypeError that names the option, its value and what is allowed. */
export function checkDbOptions(options: DbOptions): void {
  const { client, resolveScope, quota, pendingTtlSeconds, deleteMode, bucket, basePath, hooks } = options
  const { mayRead, usageEndpoint, onOperation } = options
  const wrong = (message: string) => new TypeError(`db(): ${message}`)
  if (typeof client?.reserve !== 'function') {
    throw wrong(`client must be a store, such as postgresAdapter(pool) (got ${shown(client)}).`)
  }
  if (typeof resolveScope !== 'function')
    throw wrong(`resolveScope must be a function that returns a scope or null (got ${shown(resolveScope)}).`)
  if (given(quota) && typeof quota !== 'function') {
    const flaw = quotaFlaw('quota', quota)
    if (flaw) throw wrong(`${flaw}.`)
  }
  if (given(mayRead) && typeof mayRead !== 'function')
    throw wrong(`mayRead must be a function (got ${shown(mayRead)}).`)
  if (given(usageEndpoint) && typeof usageEndpoint !== 'boolean')
    throw wrong(`usageEndpoint must be true or false (got ${shown(usageEndpoint)}).`)
  if (given(pendingTtlSeconds) && !(Number.isSafeInteger(pendingTtlSeconds) && pendingTtlSeconds > 0)) {
    throw wrong(`pendingTtlSeconds must be a positive integer (got ${shown(pendingTtlSeconds)}).`)
  }
  if (given(deleteMode) && deleteMode !== 'soft' && deleteMode !== 'hard') {
    throw wrong(`deleteMode must be "soft" or "hard" (got ${shown(deleteMode)}).`)
  }
  try {
    if (given(bucket)) checkText('bucket', bucket)
  } catch (cause) {
    throw new TypeError(`db(): ${(cause as Error).message}`, { cause })
  }
  if (given(basePath)) checkBasePath('db()', basePath)
  if (given(onOperation) && typeof onOperation !== 'function')
    throw wrong(`onOperation must be a function (got ${shown(onOperation)}).`)
  for (const hook of HOOKS) {
    if (given(hooks?.[hook]) && typeof hooks[hook] !== 'function')
      throw wrong(`hooks.${hook} must be a function (got ${shown(hooks[hook])}).`)
  }
}
