import { StorageError, refusalOf, toStorageError } from '../../core/errors.js'
import type { ObjectMetadata } from '../../core/store/records.js'
import { shown } from '../../core/store/validation/checks.js'
import { checkMetadata } from '../../core/store/validation/metadata.js'
import { type UploadKeys, applicationKeys, randomKey } from '../attempts/keys.js'
import type { MetadataContext, RoutePolicy } from './options.js'

/** Returns the keys that the route chooses. A random key is never reused, so it is also the storage key. */
export async function buildKeys(route: RoutePolicy, scope: string, filename: string): Promise<UploadKeys> {
  const { key: keyOf, name } = route
  if (keyOf !== null) return applicationKeys(await refusable(() => keyOf({ scope, filename, route: name })))
  const key = randomKey(name)
  return { key, storageKeyOf: () => key }
}

/** Returns the largest file size of an owner, or `null`. @throws StorageError `INTERNAL_ERROR` if the function returns anything else. */
export async function maxFileSizeOf(
  { name, maxFileSize }: RoutePolicy,
  scope: string,
  request?: Request,
): Promise<number | null> {
  if (typeof maxFileSize !== 'function') return maxFileSize
  const result: unknown = await refusable(() => maxFileSize(scope, request))
  // Only an explicit `null` means "no limit". `undefined` is probably a forgotten return statement.
  if (result === null || (Number.isSafeInteger(result) && (result as number) >= 0))
    return result as number | null
  throw new StorageError('INTERNAL_ERROR', {
    message: `The maxFileSize function of the upload route ${shown(name)} must return a number of bytes or null (got ${shown(result)}).`,
  })
}

/** Returns the metadata to store. @throws StorageError `INTERNAL_ERROR` if the route's function returns an invalid value. */
export async function buildMetadata(
  { name, metadata }: RoutePolicy,
  given: ObjectMetadata | null,
  context: MetadataContext,
): Promise<ObjectMetadata | null> {
  if (typeof metadata !== 'function') return given
  const result: unknown = await refusable(() => metadata(given, context))
  // Only an explicit `null` means "none". `undefined` is probably a forgotten return statement.
  if (result === null) return null
  try {
    return checkMetadata(result)
  } catch (error) {
    // Without a cause, because `onError` would get it instead of a message that names the route.
    const message = `The metadata function of the upload route ${shown(name)} failed: ${toStorageError(error).message}`
    throw new StorageError('INTERNAL_ERROR', { message })
  }
}

/** Runs a function of a route. @throws what {@link refusalOf} makes of what it throws, else that itself. */
async function refusable<T>(call: () => T | Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (thrown) {
    throw refusalOf(thrown) ?? thrown
  }
}
