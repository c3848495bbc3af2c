import type { StorageObject } from '../core/store/records.js'
import type { ErrorContext } from '../core/reporter.js'
import type { BytesReference, StoredBytes } from '../core/object-storage.js'
import type { ServerParts } from './server-parts.js'

/** Where the bytes of a record lie. */
export function bytesOf(row: StorageObject, signal?: AbortSignal): BytesReference {
  return { bucket: row.bucket, key: row.storageKey ?? row.key, ...(signal && { signal }) }
}

/** Whether what lies there is what the attempt announced, and this very attempt put it there. */
export function isAsAnnounced(attempt: StorageObject, stored: StoredBytes): boolean {
  return (
    stored.size === attempt.declaredSize &&
    (attempt.contentType === null || stored.contentType === attempt.contentType) &&
    stored.attemptId === attempt.id
  )
}

/**
 * Removes the bytes of a record that is gone, if they are the library's to remove. Never rejects: the store remembers
 * what lies there, so that a failure is told and left to `cleanUp`. Goes on where the client has gone: it asked for this.
 */
export async function removeOwnBytes(
  { storage, report }: ServerParts,
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

/**
 * Drops the multipart upload of an attempt that has ended, with the parts it has. Never rejects, for the same reason, and
 * goes on likewise where the client has gone.
 */
export async function abortOwnUpload(
  { storage, report }: ServerParts,
  row: StorageObject & { readonly uploadId: string },
  context: ErrorContext,
): Promise<void> {
  try {
    await storage.multipart?.abort({ ...bytesOf(row), uploadId: row.uploadId })
  } catch (error) {
    report(error, context)
  }
}
