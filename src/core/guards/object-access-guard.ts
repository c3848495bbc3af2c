import { StorageError } from '../errors.js'
import type { StorageObject } from '../store/records.js'
import { requireScope, resolveScopeOnce, type ResolveScope } from '../scope.js'
import type { StorageObjectStore } from '../store/contract.js'
import { shown } from '../store/validation/checks.js'
import { asDenial, type GuardContext } from './guard.js'

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
   * hide it, throw `new StorageError('OBJECT_NOT_FOUND')`.
   */
  readonly authorize?:
    ((object: StorageObject, context: AuthorizeContext) => boolean | Promise<boolean>) | null | undefined
  /** `any` also accepts pending objects. Default `active`. */
  readonly status?: 'active' | 'any' | null | undefined
}

/**
 * Creates a guard for custom routes. It returns the object if the caller may access it. Another owner's object looks like
 * one that doesn't exist.
 *
 * The guard rejects with `UNAUTHORIZED`, `OBJECT_NOT_FOUND`, `FORBIDDEN`, or `VALIDATION_ERROR` for a bad bucket or key.
 * @throws TypeError for invalid options.
 */
export function createObjectAccessGuard(
  options: ObjectAccessGuardOptions,
): (context: GuardContext) => Promise<StorageObject> {
  const { client, resolveScope, authorize } = options
  const status = options.status ?? 'active'
  if (status !== 'active' && status !== 'any') {
    throw new TypeError(`createObjectAccessGuard: status must be "active" or "any" (got ${shown(status)}).`)
  }

  return async (context) => {
    const { request, bucket, key } = context
    const scope = authorize
      ? await resolveScopeOnce(resolveScope, request)
      : await requireScope(resolveScope, request)
    const input = { bucket, key, scope: authorize ? null : scope }
    const found = await (status === 'active' ? client.findActive(input) : client.find(input))
    const object = found?.status === 'deleted' ? null : found
    if (!object || (!authorize && object.scope !== scope)) throw new StorageError('OBJECT_NOT_FOUND')
    if (authorize && (await decide(() => authorize(object, { ...context, scope, object }))) !== true) {
      throw new StorageError('FORBIDDEN')
    }
    return object
  }
}

async function decide(authorize: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return await authorize()
  } catch (thrown) {
    throw asDenial(thrown)
  }
}
