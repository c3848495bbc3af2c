import type { BytesReference, ObjectStorage } from '../core/object-storage.js'
import type { StorageObject } from '../core/store/records.js'
import { StorageError } from '../core/errors.js'
import type { Call } from '../core/http/endpoint.js'
import type { Subtree } from '../core/http/handler.js'

/** The server path below which a storage can serve its own signed URLs. */
const PREFIX = '/_storage'

/** Returns the subtree of a storage that serves its own signed URLs, or none. */
export function storageSubtrees(storage: ObjectStorage): readonly Subtree[] {
  const serve = storage.serve?.bind(storage)
  return serve ? [{ prefix: PREFIX, operation: 'storage', serve }] : []
}

/** Returns the absolute URL of that subtree, as the client of this call reaches it. */
export function storageURL({ baseURL }: Pick<Call, 'baseURL'>): string {
  return baseURL + PREFIX
}

const CALLS = ['signUpload', 'signDownload', 'head', 'remove', 'write', 'read', 'list', 'serve'] as const
const MULTIPART_CALLS = ['create', 'signPart', 'writePart', 'listParts', 'complete', 'abort', 'list'] as const

/** Wraps a storage to reject with `STORAGE_UNAVAILABLE`. A `StorageError` of the storage itself passes unchanged. */
export function mapStorageErrors(storage: ObjectStorage): ObjectStorage {
  const { multipart, baseURL = null } = storage
  return {
    ...callsOf(storage, CALLS),
    ...(multipart && { multipart: callsOf(multipart, MULTIPART_CALLS) }),
    baseURL,
  }
}

/** Returns the calls that a storage has, with their errors mapped. */
function callsOf<Storage extends object>(storage: Storage, names: readonly (keyof Storage)[]): Storage {
  const calls = names.flatMap((name) => {
    const call = storage[name]
    if (typeof call !== 'function') return []
    return [[name, (input: unknown) => mapErrors(() => Reflect.apply(call, storage, [input]))] as const]
  })
  return Object.fromEntries(calls) as Storage
}

async function mapErrors(call: () => unknown): Promise<unknown> {
  try {
    return await call()
  } catch (thrown) {
    if (thrown instanceof StorageError) throw thrown
    throw new StorageError('STORAGE_UNAVAILABLE', { cause: thrown })
  }
}

/** What has a signal: a `Request` or an `AbortController`. */
export interface SignalSource {
  readonly signal: AbortSignal
}

/**
 * Returns the bucket and key under which the storage holds the bytes of a record. The signal is read when the storage asks for
 * it, because bindings create the signal of a request only then.
 */
export function bytesOf(row: StorageObject, source?: SignalSource): BytesReference {
  const { bucket } = row
  const key = row.storageKey ?? row.key
  if (!source) return { bucket, key }
  return {
    bucket,
    key,
    get signal() {
      return source.signal
    },
  }
}
