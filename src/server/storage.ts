import type { BytesReference, MultipartStorage, ObjectStorage } from '../core/object-storage.js'
import type { StorageObject } from '../core/store/records.js'
import { StorageError } from '../core/errors.js'
import type { Call } from '../core/http/endpoint.js'
import type { Subtree } from '../core/http/handler.js'

/** The server path below which a storage can serve its own signed URLs. */
const PREFIX = '/_storage'

export function storageSubtrees(storage: ObjectStorage): readonly Subtree[] {
  const serve = storage.serve?.bind(storage)
  return serve ? [{ prefix: PREFIX, operation: 'storage', serve }] : []
}

/** Returns the absolute URL of that subtree, as the client of this call reaches it. */
export function storageURL({ baseURL }: Pick<Call, 'baseURL'>): string {
  return baseURL + PREFIX
}

/** Wraps a storage to reject with `STORAGE_UNAVAILABLE`. A `StorageError` of the storage itself passes unchanged. */
export function mapStorageErrors(storage: ObjectStorage): ObjectStorage {
  const { multipart, baseURL, createOnly } = storage
  const write = storage.write?.bind(storage)
  const read = storage.read?.bind(storage)
  const list = storage.list?.bind(storage)
  const verify = storage.verify?.bind(storage)
  const serve = storage.serve?.bind(storage)
  return {
    ...(createOnly !== undefined && { createOnly }),
    signUpload: (input) => mapErrors(() => storage.signUpload(input)),
    signDownload: (input) => mapErrors(() => storage.signDownload(input)),
    head: (reference) => mapErrors(() => storage.head(reference)),
    remove: (reference) => mapErrors(() => storage.remove(reference)),
    ...(write && { write: (input) => mapErrors(() => write(input)) }),
    ...(read && { read: (input) => mapErrors(() => read(input)) }),
    ...(list && { list: (input) => mapErrors(() => list(input)) }),
    ...(verify && { verify: (input) => mapErrors(() => verify(input)) }),
    ...(multipart && { multipart: mapMultipartErrors(multipart) }),
    ...(serve && { serve: (exchange) => mapErrors(() => serve(exchange)), baseURL: baseURL ?? null }),
  }
}

function mapMultipartErrors(multipart: MultipartStorage): MultipartStorage {
  const writePart = multipart.writePart?.bind(multipart)
  return {
    maxParts: multipart.maxParts,
    create: (input) => mapErrors(() => multipart.create(input)),
    signPart: (input) => mapErrors(() => multipart.signPart(input)),
    ...(writePart && { writePart: (input) => mapErrors(() => writePart(input)) }),
    listParts: (input) => mapErrors(() => multipart.listParts(input)),
    complete: (input) => mapErrors(() => multipart.complete(input)),
    abort: (reference) => mapErrors(() => multipart.abort(reference)),
    list: (reference) => mapErrors(() => multipart.list(reference)),
  }
}

async function mapErrors<T>(call: () => Promise<T>): Promise<T> {
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

/** Returns where the bytes of a record are. The signal is read on demand, because bindings create that of a request only then. */
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
