import { accessRefusalOf, failureOf, StorageError } from '../errors.js'
import type { AuthorizeContext } from '../guards.js'
import type { NamedObject } from '../http/fields.js'
import type { ReadAccess, ReadCall, ReadOperation } from '../plugin.js'
import { copyObject, type StorageObject } from '../store/records.js'
import type { StorageObjectStore } from '../store/contract.js'
import { isPastEnd } from '../store/lifecycle/change.js'

/** The context of `mayRead`. `scope` is `null` if the caller is not signed in. */
export type MayReadContext = AuthorizeContext & { readonly operation: ReadOperation }

/** Returns `true` to let a caller read an object of another owner. Anything else hides the object. */
export type MayRead = (object: StorageObject, context: MayReadContext) => boolean | Promise<boolean>

export function createReadAccess(
  objects: StorageObjectStore,
  mayRead: MayRead | null,
  now: () => Date,
): ReadAccess {
  /** Passes on what names the object, because the input of an endpoint has more fields. */
  async function lookUp(named: NamedObject, scope: string | null, states: 'active' | 'live') {
    const at = 'id' in named ? null : { bucket: named.bucket, key: named.key, scope }
    const found = await ('id' in named
      ? objects.findById({ id: named.id, scope })
      : objects[states === 'active' ? 'findActive' : 'find'](at!))
    // An object past its end is missing, but hides no upload in progress at its key.
    const isGone = found !== null && isPastEnd(found, now())
    const row = !isGone ? found : at && states === 'live' ? await objects.findPending(at) : null
    const isWanted = row?.status === 'active' || (row?.status === 'pending' && states === 'live')
    return isWanted ? row : null
  }

  return {
    admitsAnonymous: mayRead !== null,

    async find(named, states, call) {
      // Without `mayRead`, the store need only look for objects of the caller.
      const object = await lookUp(named, mayRead ? null : call.scope, states)
      const isReadable =
        object !== null &&
        (object.scope === call.scope ||
          (object.status === 'active' && mayRead !== null && (await allows(mayRead, object, call))))
      if (isReadable) return object
      throw new StorageError(call.scope === null ? 'UNAUTHORIZED' : 'OBJECT_NOT_FOUND')
    },
  }
}

async function allows(
  mayRead: MayRead,
  row: StorageObject,
  { request, scope, operation }: ReadCall,
): Promise<boolean> {
  const object = copyObject(row)
  const { bucket, key, route, size } = object
  try {
    return (await mayRead(object, { request, bucket, key, scope, object, route, size, operation })) === true
  } catch (cause) {
    const refusal = accessRefusalOf(cause)
    if (!refusal) throw failureOf('mayRead', cause)
    // Its code would show that the object exists: to callers who aren't signed in, or without the application having chosen the code.
    if (refusal !== cause || (scope === null && refusal.status < 500)) return false
    throw refusal
  }
}
