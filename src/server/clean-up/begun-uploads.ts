import { StorageError } from '../../core/errors.js'
import type { Leftover } from '../../core/records.js'
import type { MultipartReference, ObjectStorage } from '../object-storage.js'

/**
 * The multipart uploads that an ended attempt has in the bucket: that of its id, or, where none was recorded, whatever
 * was begun under its very storage key, at which no other attempt ever writes.
 *
 * @throws StorageError `STORAGE_UNAVAILABLE` for a recorded upload in a storage that knows none.
 */
export async function begunUploads(
  { multipart }: ObjectStorage,
  { bucket, key, storageKey, uploadId }: Leftover,
): Promise<readonly MultipartReference[]> {
  const at = { bucket, key: storageKey ?? key }
  if (uploadId !== null) {
    if (!multipart) throw cannotAbort(uploadId)
    const there = (await multipart.listParts({ ...at, uploadId, after: 0 })) !== null
    return there ? [{ ...at, uploadId }] : []
  }
  if (!multipart || storageKey === null) return []
  const begun = await multipart.list(at)
  return begun.map((id) => ({ ...at, uploadId: id }))
}

/** Aborts them all. Rejects after the last, with the first failure, if there was one. */
export async function abortUploads(
  { multipart }: ObjectStorage,
  uploads: readonly MultipartReference[],
): Promise<void> {
  const results = await Promise.allSettled(uploads.map(async (upload) => multipart?.abort(upload)))
  const failure = results.find((result) => result.status === 'rejected')
  if (failure) throw failure.reason
}

function cannotAbort(uploadId: string): StorageError {
  return new StorageError('STORAGE_UNAVAILABLE', {
    message: `This storage can't abort multipart uploads, so that of upload id ${JSON.stringify(uploadId)} can't be cleaned up.`,
  })
}
