import { StorageError } from './errors.js'
import { checkText } from './store/validation/text.js'

/** Who a request comes from: the owner of what it stores; `null` or `undefined` where nobody is signed in. */
export type ResolveScope = (
  request: Request,
) => string | null | undefined | Promise<string | null | undefined>

const remembered = new WeakMap<ResolveScope, WeakMap<Request, Promise<string | null>>>()

/**
 * The scope of a request. The function is called once a request: its answer is remembered for that `Request` object, for
 * the plugin and for every guard with the same function.
 *
 * @throws StorageError `INTERNAL_ERROR` where the function throws (a `StorageError` of its own stands) or answers no scope.
 */
export function resolveScopeOnce(resolveScope: ResolveScope, request: Request): Promise<string | null> {
  let ofRequests = remembered.get(resolveScope)
  if (!ofRequests) remembered.set(resolveScope, (ofRequests = new WeakMap()))
  let scope = ofRequests.get(request)
  if (!scope) ofRequests.set(request, (scope = askScope(resolveScope, request)))
  return scope
}

/** As `resolveScopeOnce`. @throws StorageError `UNAUTHORIZED` where nobody is signed in. */
export async function requireScope(resolveScope: ResolveScope, request: Request): Promise<string> {
  const scope = await resolveScopeOnce(resolveScope, request)
  if (scope === null) throw new StorageError('UNAUTHORIZED')
  return scope
}

async function askScope(resolveScope: ResolveScope, request: Request): Promise<string | null> {
  let scope: unknown
  try {
    scope = (await resolveScope(request)) ?? null
  } catch (cause) {
    if (cause instanceof StorageError) throw cause
    throw new StorageError('INTERNAL_ERROR', { message: 'resolveScope threw an error.', cause })
  }
  try {
    return scope === null ? null : checkText('scope', scope)
  } catch (cause) {
    // The fault is the application's, not the client's.
    throw new StorageError('INTERNAL_ERROR', { message: 'resolveScope answered no valid scope.', cause })
  }
}
