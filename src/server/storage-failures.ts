import { StorageError } from '../core/errors.js'
import type { MultipartStorage, ObjectStorage } from '../core/object-storage.js'

/** The same storage, with every failure of its own as `STORAGE_UNAVAILABLE`. A `StorageError` stands as it is. */
export function withNamedFailures(storage: ObjectStorage): ObjectStorage {
  const { multipart } = storage
  const serve = storage.serve?.bind(storage)
  return {
    signUpload: (input) => named(() => storage.signUpload(input)),
    signDownload: (input) => named(() => storage.signDownload(input)),
    head: (reference) => named(() => storage.head(reference)),
    remove: (reference) => named(() => storage.remove(reference)),
    ...(multipart && { multipart: namedMultipart(multipart) }),
    ...(serve && { serve: (exchange) => named(() => serve(exchange)) }),
  }
}

function namedMultipart(multipart: MultipartStorage): MultipartStorage {
  return {
    create: (input) => named(() => multipart.create(input)),
    signPart: (input) => named(() => multipart.signPart(input)),
    listParts: (input) => named(() => multipart.listParts(input)),
    complete: (input) => named(() => multipart.complete(input)),
    abort: (reference) => named(() => multipart.abort(reference)),
    list: (reference) => named(() => multipart.list(reference)),
  }
}

async function named<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (thrown) {
    if (thrown instanceof StorageError) throw thrown
    throw new StorageError('STORAGE_UNAVAILABLE', { cause: thrown })
  }
}
