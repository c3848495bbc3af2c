import {
  createAttemptId,
  importObjects,
  type ImportObjectsOptions,
  type ImportSelection,
  type ObjectStorage,
} from '@svc/db'
import { BUCKET, startService, type ServiceOptions } from '../service.js'

/** Writes bytes into the bucket that no record names. */
export async function store(
  storage: ObjectStorage,
  key: string,
  text = key,
  bucket: string = BUCKET,
): Promise<void> {
  const body = new TextEncoder().encode(text)
  const at = { bucket, key, contentType: 'text/plain', attemptId: createAttemptId() }
  if (!(await storage.write!({ ...at, body }))) throw new Error(`${key} is there already`)
}

/** Gives `users/<id>/…` to the owner `user:<id>`, and skips everything else. */
export function ownerFromKey({ key }: { readonly key: string }): ImportSelection | null {
  const [, id] = /^users\/([^/]+)\/[^/]/.exec(key) ?? []
  return id === undefined ? null : { scope: `user:${id}` }
}

/** A service whose bucket holds these keys, written a second apart, and a function that imports them. */
export async function serviceOverBucket(keys: readonly string[], options: ServiceOptions = {}) {
  const service = startService(options)
  for (const key of keys) {
    await store(service.storage, key)
    service.clock.advance(1000)
  }
  const run = (given: Partial<ImportObjectsOptions> = {}) =>
    importObjects(service.s3, { select: ownerFromKey, ...given })
  return { ...service, run }
}
