import { failureOf, refusalOf, StorageError } from './errors.js'
import { checkText } from './store/validation/checks.js'

/**
 * Returns the scope of a request: the owner of what it stores. `null` or `undefined` means that the caller is not signed in.
 * A thrown `Response`, or an error with the status 401 or 403, refuses the request, also where callers need not be signed in.
 */
export type ResolveScope = (
  request: Request,
) => string | null | undefined | Promise<string | null | undefined>

/** Lets the headers of a `Request` follow those of the framework's. Registered, because bindings import only types of core. */
const LIVE_HEADERS = Symbol.for('@svc/db/live-headers')

type Scopes = Map<ResolveScope, Promise<string | null>>

/** Not a `WeakMap`, which slows down the garbage collection. Registered, because the ESM and the CommonJS build are two modules. */
const SCOPES = Symbol.for('@svc/db/scopes')

/** Runs `resolveScope` once for each `Request`. Afterwards the headers of the request no longer change. */
export function resolveScopeOnce(resolveScope: ResolveScope, request: Request): Promise<string | null> {
  const known = (request as { readonly [SCOPES]?: Scopes })[SCOPES]
  const scopes = known ?? new Map<ResolveScope, Promise<string | null>>()
  if (!known) Object.defineProperty(request, SCOPES, { value: scopes })
  let scope = scopes.get(resolveScope)
  if (!scope) scopes.set(resolveScope, (scope = callResolveScope(resolveScope, request)))
  return scope
}

/** Like {@link resolveScopeOnce}. @throws StorageError `UNAUTHORIZED` if the caller is not signed in. */
export async function requireScope(resolveScope: ResolveScope, request: Request): Promise<string> {
  const scope = await resolveScopeOnce(resolveScope, request)
  if (scope === null) throw new StorageError('UNAUTHORIZED')
  return scope
}

async function callResolveScope(resolveScope: ResolveScope, request: Request): Promise<string | null> {
  let scope: unknown
  try {
    scope = (await resolveScope(request)) ?? null
  } catch (cause) {
    throw refusalOf(cause) ?? failureOf('resolveScope', cause)
  } finally {
    ;(request as { readonly [LIVE_HEADERS]?: { fix(): void } })[LIVE_HEADERS]?.fix()
  }
  try {
    return scope === null ? null : checkText('scope', scope)
  } catch (cause) {
    // The application is at fault, not the client, so this is not a VALIDATION_ERROR.
    throw new StorageError('INTERNAL_ERROR', { message: 'resolveScope returned an invalid scope.', cause })
  }
}
