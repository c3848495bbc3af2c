import { StorageError } from '../../core/errors.js'
import type { MultipartReference, ObjectStorage } from '../../core/object-storage.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import type { Leftover, StorageObject } from '../../core/store/records.js'
import { GRACE_SECONDS, secondsAfter } from '../lifetimes.js'
import type { ServerDependencies } from '../server-dependencies.js'

/**
 * The result for a leftover.
 * - `forgotten`: nothing is stored and nothing can be written any more; the record is deleted.
 * - `removed`: its bytes or parts were removed; a later run verifies that nothing is left.
 * - `waiting`: a signed URL may still read or write the bytes.
 * - `kept`: an active object or pending upload uses the bytes.
 */
export type SettledLeftover = 'forgotten' | 'removed' | 'waiting' | 'kept'

/** Takes the next step for a leftover. Rejects if the storage fails, which leaves the record in place. */
export async function settleLeftover(
  dependencies: ServerDependencies,
  leftover: Leftover,
): Promise<SettledLeftover> {
  const { records, now } = dependencies
  const time = now()
  const isWriteClosed = time >= secondsAfter(leftover.writableUntil, GRACE_SECONDS)
  // Uploads before bytes: an upload that is completed in between becomes an object, which settleBytes then finds.
  const uploads = await settleUploads(dependencies, leftover, isWriteClosed)
  const bytes = await settleBytes(dependencies, leftover, time)
  if (uploads === 'removed' || bytes === 'removed') return 'removed'
  if (uploads === 'kept' || bytes === 'kept') return 'kept'
  if (bytes === 'waiting' || !isWriteClosed) return 'waiting'
  await records.objects.forgetLeftover({ attemptId: leftover.attemptId })
  return 'forgotten'
}

/** Aborts the open multipart uploads, without waiting: an incomplete upload can't be read. */
async function settleUploads(
  { storage, records }: ServerDependencies,
  leftover: Leftover,
  isWriteClosed: boolean,
): Promise<'none' | 'removed' | 'kept'> {
  const uploads = await openUploads(storage, leftover, isWriteClosed)
  if (uploads.length === 0) return 'none'
  const live = await liveRows(records.objects, leftover)
  const inUse = live.some((row) =>
    leftover.storageKey === null
      ? row.uploadId === leftover.uploadId
      : usesStorageKey(row, leftover.storageKey),
  )
  if (inUse) return 'kept'
  await abortUploads(storage, uploads)
  return 'removed'
}

/**
 * Returns the open multipart uploads of an ended attempt: the recorded one, and any other under its storage key, which no
 * other attempt uses. Listing by key costs an extra call. It runs only if no upload id was recorded, and on the last check:
 * a storage that retries a call may have started an upload that it never reported.
 *
 * @throws StorageError `STORAGE_UNAVAILABLE` if an upload is recorded but the storage has no multipart support.
 */
async function openUploads(
  { multipart }: ObjectStorage,
  { bucket, key, storageKey, uploadId }: Leftover,
  isLastCheck: boolean,
): Promise<readonly MultipartReference[]> {
  const at = { bucket, key: storageKey ?? key }
  const ids = new Set<string>()
  if (uploadId !== null) {
    if (!multipart) {
      throw new StorageError('STORAGE_UNAVAILABLE', {
        message: `The storage does not support multipart uploads, so upload ${JSON.stringify(uploadId)} can't be aborted.`,
      })
    }
    if ((await multipart.listParts({ ...at, uploadId, after: 0 })) !== null) ids.add(uploadId)
  }
  if (multipart && storageKey !== null && (uploadId === null || isLastCheck)) {
    for (const id of await multipart.list(at)) ids.add(id)
  }
  return [...ids].map((id) => ({ ...at, uploadId: id }))
}

/** Tries to abort every upload, then rejects with the first failure, if any. */
async function abortUploads(
  { multipart }: ObjectStorage,
  uploads: readonly MultipartReference[],
): Promise<void> {
  const results = await Promise.allSettled(uploads.map(async (upload) => multipart?.abort(upload)))
  const failure = results.find((result) => result.status === 'rejected')
  if (failure) throw failure.reason
}

async function settleBytes(
  { storage, records, downloadSeconds }: ServerDependencies,
  leftover: Leftover,
  time: Date,
): Promise<'none' | 'removed' | 'waiting' | 'kept'> {
  const { bucket, storageKey, since } = leftover
  // Without a storage key, the bytes are under a key that the application manages.
  if (storageKey === null) return 'none'
  if (time < secondsAfter(since, downloadSeconds)) return 'waiting'
  if ((await storage.head({ bucket, key: storageKey })) === null) return 'none'
  const live = await liveRows(records.objects, leftover)
  if (live.some((row) => usesStorageKey(row, storageKey))) return 'kept'
  await storage.remove({ bucket, key: storageKey })
  return 'removed'
}

async function liveRows(
  objects: StorageObjectStore,
  { bucket, key }: Leftover,
): Promise<readonly StorageObject[]> {
  // Pending before active: a row that is confirmed between the two reads is found at least once.
  const pending = await objects.findPending({ bucket, key })
  const active = await objects.findActive({ bucket, key })
  return [pending, active].filter((row) => row !== null)
}

function usesStorageKey(row: StorageObject, storageKey: string): boolean {
  return (row.storageKey ?? row.key) === storageKey
}
