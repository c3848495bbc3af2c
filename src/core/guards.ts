import { accessRefusalOf, StorageError } from './errors.js'
import { namesOf } from './known-names.js'
import { OptionChecks } from './option-checks.js'
import type { StorageObjectStore } from './store/contract.js'
import { copyObject, type ObjectMetadata, type Quota, type StorageObject } from './store/records.js'
import { isPastEnd } from './store/lifecycle/change.js'
import { exceededLimit } from './store/lifecycle/usage.js'
import { refusalError } from './store/refusals.js'
import { checkSize, optional } from './store/validation/checks.js'
import { type ResolveScope, requireScope, resolveScopeOnce } from './scope.js'

/** What a guard knows about the operation. */
export interface GuardContext {
  /** The web-standard request. `expressRequest(request)` and `koaContext(request)` return the framework's own. */
  readonly request: Request
  readonly bucket: string
  readonly key: string
  /** `null` if the caller is not signed in and the guard may still allow the operation. */
  readonly scope?: string | null
  /** A copy of the record. */
  readonly object?: StorageObject
  readonly route?: string | null
  /** Bytes. */
  readonly size?: number | null
  /** Of an upload: whether it comes in parts. */
  readonly multipart?: boolean
  /** Of an upload: the display name. */
  readonly filename?: string
  /** Of an upload: the media type. */
  readonly contentType?: string
  /** Of an upload: a copy of the metadata as the client sent it, or `null` if it sent none. */
  readonly metadata?: ObjectMetadata | null
  /**
   * Of an upload: a copy of the caller's active object that it would replace, or `null` if it replaces none. An upload that has begun
   * is not asked about again.
   */
  readonly replaces?: StorageObject | null
  /**
   * Of an upload: whether an upload of the caller at the key waits for its check, which the new one would end. `false` on a server
   * without a route that has `check`.
   */
  readonly waiting?: boolean
}

/** Denies an operation by throwing: a `StorageError`, or your framework's 401, 403 or 404. Its result is ignored. */
export type Guard<Context extends GuardContext = GuardContext> = (context: Context) => unknown

/** Marks the denial that hides an unexpected error. A registered symbol, which the ESM and the CommonJS build share. */
const UNEXPECTED = Symbol.for('@svc/db/unexpected-denial')

/** Runs guards in order. An unexpected error denies as well, without its message, which must not reveal why, and is reported. */
export async function runGuards(
  guards: readonly (Guard | null | undefined)[],
  context: GuardContext,
  report: (error: unknown) => void,
): Promise<void> {
  for (const guard of guards) {
    try {
      await guard?.(copyContext(context))
    } catch (thrown) {
      const denial = asDenial(thrown)
      if (UNEXPECTED in denial) report(denial.cause)
      throw denial
    }
  }
}

/** Copies the records, so that a guard can't change what the operation or the next guard works with. */
function copyContext(context: GuardContext): GuardContext {
  const { object, replaces, metadata } = context
  return {
    ...context,
    ...(object && { object: copyObject(object) }),
    ...(replaces && { replaces: copyObject(replaces) }),
    ...(metadata && { metadata: { ...metadata } }),
  }
}

function asDenial(thrown: unknown): StorageError {
  const refusal = accessRefusalOf(thrown)
  if (refusal) return refusal
  const denial = new StorageError('FORBIDDEN', { cause: thrown ?? 'nothing' })
  return Object.defineProperty(denial, UNEXPECTED, { value: true })
}

const chainChecks = new OptionChecks('chainHooks')

/**
 * Combines hooks or guards into one. They run in order, each awaited; `null` and `undefined` are skipped; the first throw stops the
 * chain.
 *
 * @throws TypeError for anything else that is no function.
 *
 * @example
 * import { chainHooks, type Guard } from '@svc/db'
 *
 * const isOffice: Guard = ({ request }) => {
 *   if (request.headers.get('x-network') !== 'office') throw new Response(null, { status: 403 })
 * }
 * const log: Guard = ({ key }) => console.log(key)
 * const guard = chainHooks(log, isOffice)
 */
export function chainHooks<Context>(
  ...hooks: readonly (((context: Context) => unknown) | null | undefined)[]
): (context: Context) => Promise<void> {
  for (const hook of hooks) chainChecks.function('a hook', hook)
  return async (context) => {
    for (const hook of hooks) await hook?.(context)
  }
}

/** The context of `authorize`: the guard's context with the object and the caller's scope, `null` if the caller is not signed in. */
export type AuthorizeContext = GuardContext & {
  readonly scope: string | null
  readonly object: StorageObject
}

export interface ObjectAccessGuardOptions {
  readonly client: StorageObjectStore
  readonly resolveScope: ResolveScope
  /**
   * Replaces the ownership check. Any result but `true` denies with `FORBIDDEN`, which reveals that the object exists. To
   * hide it, throw `new StorageError('OBJECT_NOT_FOUND')` or your framework's 404.
   */
  readonly authorize?:
    ((object: StorageObject, context: AuthorizeContext) => boolean | Promise<boolean>) | null | undefined
  /** `any` also accepts pending objects, but none whose bytes wait for their check. Default `active`. */
  readonly status?: 'active' | 'any' | null | undefined
  /** Returns the current time, because an object past its end is missing. Default: the system clock. */
  readonly now?: (() => Date) | null | undefined
}

const ACCESS_OPTIONS = namesOf<ObjectAccessGuardOptions>({
  ...{ client: true, resolveScope: true, authorize: true, status: true, now: true },
})
const accessChecks = new OptionChecks('createObjectAccessGuard')

/** Checks what every guard needs. @throws TypeError */
function checkCaller(checks: OptionChecks, { client, resolveScope }: QuotaGuardOptions): void {
  checks.store(client)
  checks.requiredFunction('resolveScope', resolveScope)
}

/**
 * Creates a guard for custom routes. It returns the object if the caller may access it. Another owner's object looks like
 * one that doesn't exist.
 *
 * The guard rejects with `UNAUTHORIZED`, `OBJECT_NOT_FOUND`, `FORBIDDEN`, or `VALIDATION_ERROR` for a bad bucket or key.
 * @throws TypeError for invalid options.
 *
 * @example
 * import { createObjectAccessGuard } from '@svc/db'
 *
 * const access = createObjectAccessGuard({ client: store, resolveScope: (request) => userOf(request) })
 * const object = await access({ request, bucket, key })
 */
export function createObjectAccessGuard(
  options: ObjectAccessGuardOptions,
): (context: GuardContext) => Promise<StorageObject> {
  checkCaller(accessChecks, accessChecks.options(options, ACCESS_OPTIONS))
  const { client, resolveScope } = options
  const authorize = accessChecks.function('authorize', options.authorize)
  const status = accessChecks.oneOf('status', options.status, ['active', 'any']) ?? 'active'
  const now = accessChecks.function('now', options.now) ?? (() => new Date())

  return async (context) => {
    const { request, bucket, key } = context
    const scope = await (authorize ? resolveScopeOnce : requireScope)(resolveScope, request)
    const input = { bucket, key, scope: authorize ? null : scope }
    const found = await (status === 'active' ? client.findActive(input) : client.find(input))
    // An object past its end is missing, but hides no upload in progress at its key.
    const isGone = found ? isPastEnd(found, now()) : false
    const live = !isGone ? found : status === 'any' ? await client.findPending(input) : null
    const isHidden = live?.status === 'deleted' || (live !== null && live.arrivedAt !== null)
    const object = isHidden ? null : live
    if (!object || (!authorize && object.scope !== scope)) throw new StorageError('OBJECT_NOT_FOUND')
    try {
      if (!authorize || (await authorize(object, { ...context, scope, object })) === true) return object
    } catch (thrown) {
      throw asDenial(thrown)
    }
    throw new StorageError('FORBIDDEN')
  }
}

export interface QuotaGuardOptions extends Quota {
  readonly client: StorageObjectStore
  readonly resolveScope: ResolveScope
}

const QUOTA_OPTIONS = namesOf<QuotaGuardOptions>({
  ...{ client: true, resolveScope: true, maxBytes: true, maxFiles: true },
})
const quotaChecks = new OptionChecks('createQuotaGuard')

/**
 * Creates a guard for custom routes that denies if `bytes + reservedBytes + (size ?? 0)` exceeds `maxBytes` or
 * `files + reservedFiles + 1` exceeds `maxFiles`. It only checks, so concurrent requests can pass it together. To enforce a
 * quota exactly, use `db({ quota })`, which checks in `reserve`.
 *
 * The guard rejects with `UNAUTHORIZED`, `QUOTA_EXCEEDED`, or `VALIDATION_ERROR` for a bad `size`.
 * @throws TypeError for an invalid option, such as a limit that is not an integer from 0 to `Number.MAX_SAFE_INTEGER`.
 *
 * @example
 * import { createQuotaGuard } from '@svc/db'
 *
 * const hasRoom = createQuotaGuard({
 *   client: store,
 *   resolveScope: (request) => userOf(request),
 *   maxBytes: 1_000_000_000,
 * })
 * await hasRoom({ request, bucket, key, size: 1024 })
 */
export function createQuotaGuard(options: QuotaGuardOptions): (context: GuardContext) => Promise<void> {
  checkCaller(quotaChecks, quotaChecks.options(options, QUOTA_OPTIONS))
  const { client, resolveScope, maxBytes, maxFiles } = options
  const limits = quotaChecks.quota('options', { maxBytes, maxFiles })

  return async ({ request, size }) => {
    const scope = await requireScope(resolveScope, request)
    const bytes = optional(size, (value) => checkSize('size', value)) ?? 0
    const usage = await client.getScopeUsage(scope)
    const refusal = exceededLimit(usage, { bytes, files: 1 }, limits)
    if (refusal) throw refusalError(refusal)
  }
}
