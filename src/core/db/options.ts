import { checkBasePath } from '../http/base-path.js'
import type { OperationObserver } from '../observer.js'
import type { Quota, StorageObject } from '../store/records.js'
import type { ErrorListener } from '../reporter.js'
import type { ResolveScope } from '../scope.js'
import type { StorageObjectStore } from '../store/contract.js'
import { quotaFlaw } from '../store/validation/quota.js'
import { checkText } from '../store/validation/text.js'

/** The limits of a scope; `null`: none. A function may answer for each customer differently. */
export type QuotaSource = Quota | ((scope: string, request: Request) => Quota | null | Promise<Quota | null>)

/** Called after the database has the change, and awaited; an error of theirs changes nothing for the client. Not exactly once. */
export interface DbHooks {
  readonly onReserved?: ((event: ReservedEvent) => unknown) | null | undefined
  readonly onActivated?: ((event: ActivatedEvent) => unknown) | null | undefined
  readonly onDeleted?: ((event: DeletedEvent) => unknown) | null | undefined
}

export interface ReservedEvent {
  readonly object: StorageObject
  readonly request?: Request
}

export interface ActivatedEvent {
  readonly object: StorageObject
  /** The record before, where the object was replaced. */
  readonly replaced: StorageObject | null
  /** Absent where the clean-up job confirmed it. */
  readonly request?: Request
}

export interface DeletedEvent {
  readonly object: StorageObject
  readonly request?: Request
}

export interface DbOptions {
  readonly client: StorageObjectStore
  readonly resolveScope: ResolveScope
  readonly quota?: QuotaSource | null | undefined
  /** How long a reservation may last, in seconds. Default 86400, a day. */
  readonly pendingTtlSeconds?: number | null | undefined
  /** `soft` keeps what was deleted as history. Default `soft`. */
  readonly deleteMode?: 'soft' | 'hard' | null | undefined
  /** Where a call names none. On a server: the server's. */
  readonly bucket?: string | null | undefined
  readonly hooks?: DbHooks | null | undefined
  /** Where the endpoints are, without a server. Default `/api/s3`. */
  readonly basePath?: string | null | undefined
  /** Told every 5xx and every error of a hook. Default: the server's, or `console.error`. */
  readonly onError?: ErrorListener | null | undefined
  /** Goes around each request that its endpoints answer without a server. Default: the server's, or nothing. */
  readonly onOperation?: OperationObserver | null | undefined
  /** Default: the system's clock, or the server's. */
  readonly now?: (() => Date) | null | undefined
}

const HOOKS = ['onReserved', 'onActivated', 'onDeleted'] as const

/** As in every input of the store, `null` means the same as leaving an option out. */
function given<T>(value: T | null | undefined): value is T & {} {
  return value !== null && value !== undefined
}

/** @throws TypeError that says which option is wrong and what is allowed. */
export function checkDbOptions(options: DbOptions): void {
  const { client, resolveScope, quota, pendingTtlSeconds, deleteMode, bucket, basePath, hooks, onOperation } =
    options
  const wrong = (message: string) => new TypeError(`db(): ${message}`)
  if (typeof client?.reserve !== 'function') {
    throw wrong('client must be a store, such as memoryAdapter().')
  }
  if (typeof resolveScope !== 'function')
    throw wrong('resolveScope must be a function (request) => scope or null.')
  if (given(quota) && typeof quota !== 'function') {
    const flaw = quotaFlaw(quota)
    if (flaw) throw wrong(`quota ${flaw}.`)
  }
  if (given(pendingTtlSeconds) && !(Number.isSafeInteger(pendingTtlSeconds) && pendingTtlSeconds > 0)) {
    throw wrong(`pendingTtlSeconds must be a positive integer, not ${String(pendingTtlSeconds)}.`)
  }
  if (given(deleteMode) && deleteMode !== 'soft' && deleteMode !== 'hard') {
    throw wrong(`deleteMode must be "soft" or "hard", not ${String(deleteMode)}.`)
  }
  try {
    if (given(bucket)) checkText('bucket', bucket)
  } catch (cause) {
    throw new TypeError(`db(): ${(cause as Error).message}`, { cause })
  }
  if (given(basePath)) checkBasePath('db()', basePath)
  if (given(onOperation) && typeof onOperation !== 'function') throw wrong('onOperation must be a function.')
  for (const hook of HOOKS) {
    if (given(hooks?.[hook]) && typeof hooks[hook] !== 'function')
      throw wrong(`hooks.${hook} must be a function.`)
  }
}
