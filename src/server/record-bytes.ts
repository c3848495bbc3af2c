import type { BytesReference, StoredBytes } from '../core/object-storage.js'
import type { ErrorContext } from '../core/reporter.js'
import type { StorageObject } from '../core/store/records.js'
import type { ServerDependencies } from './server-dependencies.js'

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

/** Returns whether stored bytes were written by this attempt and have the size and type of its upload request. */
export function matchesRequest(attempt: StorageObject, stored: StoredBytes): boolean {
  return (
    stored.size === attempt.declaredSize &&
    (attempt.contentType === null || stored.contentType === attempt.contentType) &&
    stored.attemptId === attempt.id
  )
}

/**
 * Removes the bytes of a deleted record, if the library chose their storage key. Never rejects: the store has recorded a
 * leftover, so a failure is reported and `cleanUp` retries. Continues after the client disconnects.
 */
export async function removeBytes(
  { storage, report }: ServerDependencies,
  row: StorageObject,
  context: ErrorContext,
): Promise<void> {
  if (row.storageKey === null) return
  try {
    await storage.remove(bytesOf(row))
  } catch (error) {
    report(error, context)
  }
}

/** Aborts the multipart upload of an ended attempt. Like {@link removeBytes}, it never rejects. */
export async function abortMultipartUpload(
  { storage, report }: ServerDependencies,
  row: StorageObject & { readonly uploadId: string },
  context: ErrorContext,
): Promise<void> {
  try {
    await storage.multipart?.abort({ ...bytesOf(row), uploadId: row.uploadId })
  } catch (error) {
    report(error, context)
  }
}
