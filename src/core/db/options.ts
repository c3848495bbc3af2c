import { checkBasePath } from '../http/handler.js'
import type { OperationObserver } from '../observer.js'
import { namesOf } from '../known-names.js'
import { OptionChecks } from '../option-checks.js'
import type { Quota, StorageObject } from '../store/records.js'
import type { ErrorListener } from '../reporter.js'
import type { ResolveScope } from '../scope.js'
import type { StorageObjectStore } from '../store/contract.js'
import type { IsUsed } from './is-used.js'
import type { MayRead } from './read-access.js'
import type { Guard } from '../guards.js'
import { shown } from '../store/validation/checks.js'

/**
 * A fixed quota for every scope, or a function that returns the quota of one scope. `null` means unlimited. There is no request if
 * `s3.files.put` asks.
 */
export type QuotaSource = Quota | ((scope: string, request?: Request) => Quota | null | Promise<Quota | null>)

/** Hooks run after the database has committed the change, and are awaited. Their errors don't affect the response. A crash can lose a call. */
export interface DbHooks {
  readonly onReserved?: ((event: ReservedEvent) => unknown) | null | undefined
  readonly onActivated?: ((event: ActivatedEvent) => unknown) | null | undefined
  readonly onDeleted?: ((event: DeletedEvent) => unknown) | null | undefined
  /** An upload has failed its check, by `s3.files.reject`, or by `cleanUp` because there was no verdict in time. */
  readonly onRejected?: ((event: RejectedEvent) => unknown) | null | undefined
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
  /** Absent if `s3.files` deleted the object, or if it came to its end. */
  readonly request?: Request
}

export interface RejectedEvent {
  /** The pending row that has ended. Its bytes are being removed. */
  readonly object: StorageObject
  /** The reason of the verdict, or `null`. `cleanUp` gives `no verdict`. */
  readonly reason: string | null
}

export const UPDATE_FIELDS = ['filename', 'metadata', 'contentType'] as const

/** A field of a record that owners may change over HTTP. */
export type UpdateField = (typeof UPDATE_FIELDS)[number]

export interface DbUpdateOptions {
  /** What `PATCH /db/object` may change. `metadata` includes `setMetadata`. Default: `['filename']`. */
  readonly fields?: readonly UpdateField[] | null | undefined
  /** Runs after the ownership check, before anything changes. Its context has a copy of the object. */
  readonly guard?: Guard | null | undefined
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
  /**
   * Decides which temporary objects are in use and so must stay: called with copies of at most 100 objects past their end, before they
   * are removed. Returns the ids of those that your application uses, whose end is then cleared. If it fails, or returns anything else,
   * none of them is removed, `onError` gets the error, and a later run asks again. Default: none is in use.
   */
  readonly isUsed?: IsUsed | null | undefined
  /**
   * Whether `PATCH /db/object` lets owners change their active objects: `true` for the filename alone, or the fields and a guard.
   * The upload route of an object keeps its word about metadata and content types. Default `false`.
   */
  readonly update?: boolean | DbUpdateOptions | null | undefined
  /**
   * The names of the metadata that clients see, as `metadata` of each object in a response. Default: none, and lists don't read
   * metadata.
   */
  readonly visibleMetadata?: readonly string[] | null | undefined
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

const OPTIONS = namesOf<DbOptions>({
  ...{ client: true, resolveScope: true, quota: true, mayRead: true, usageEndpoint: true },
  ...{ update: true, visibleMetadata: true, isUsed: true },
  ...{ pendingTtlSeconds: true, deleteMode: true, bucket: true, hooks: true, basePath: true },
  ...{ onError: true, onOperation: true, now: true },
})
const UPDATE = namesOf<DbUpdateOptions>({ fields: true, guard: true })
const HOOKS = namesOf<DbHooks>({ onReserved: true, onActivated: true, onDeleted: true, onRejected: true })

const checks = new OptionChecks('db')

export function checkDbOptions(options: DbOptions): void {
  checks.options(options, OPTIONS)
  const { client, resolveScope, quota, pendingTtlSeconds, deleteMode, bucket, basePath, hooks } = options
  checks.store(client)
  if (typeof resolveScope !== 'function') {
    throw checks.error(
      `resolveScope must be a function that returns a scope or null (got ${shown(resolveScope)}).`,
    )
  }
  if (typeof quota !== 'function') checks.quota('quota', quota)
  checks.function('mayRead', options.mayRead)
  checks.function('isUsed', options.isUsed)
  checks.boolean('usageEndpoint', options.usageEndpoint)
  if (!(pendingTtlSeconds == null || (Number.isSafeInteger(pendingTtlSeconds) && pendingTtlSeconds > 0))) {
    throw checks.error(`pendingTtlSeconds must be a positive integer (got ${shown(pendingTtlSeconds)}).`)
  }
  checkUpdate(options.update)
  for (const [index, name] of (checks.array('visibleMetadata', options.visibleMetadata) ?? []).entries()) {
    if (typeof name !== 'string')
      throw checks.error(`visibleMetadata[${index}] must be a string (got ${shown(name)}).`)
  }
  checks.oneOf('deleteMode', deleteMode, ['soft', 'hard'])
  if (bucket != null) checks.text('bucket', bucket, 'bucket')
  if (basePath != null) checkBasePath('db', basePath)
  for (const name of ['onError', 'onOperation', 'now'] as const) checks.function(name, options[name])
  if (hooks == null) return
  checks.nested('hooks', hooks, HOOKS)
  for (const [name, hook] of Object.entries(hooks)) checks.function(`hooks.${name}`, hook)
}

function checkUpdate(update: DbOptions['update']): void {
  if (update === undefined || update === null || typeof update === 'boolean') return
  if (typeof update !== 'object') {
    throw checks.error(`update must be true, false or an object { fields?, guard? } (got ${shown(update)}).`)
  }
  const { fields, guard } = checks.nested('update', update, UPDATE)
  checks.function('update.guard', guard)
  const given = checks.array('update.fields', fields)
  if (given?.length === 0) throw checks.error('update.fields must have at least one field.')
  for (const [index, field] of (given ?? []).entries()) {
    // `null` would mean that none was given.
    checks.oneOf(`update.fields[${index}]`, field ?? ('' as typeof field), UPDATE_FIELDS)
  }
}
