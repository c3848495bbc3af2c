import { StorageError } from '../../core/errors.js'
import type { Leftover } from '../../core/store/records.js'
import type { MultipartReference, ObjectStorage } from '../../core/object-storage.js'

/**
 * The multipart uploads that an ended attempt has in the bucket: that of its id, and whatever was begun under its very
 * storage key, at which no other attempt ever writes. The latter costs a call more and is looked for where no id was
 * recorded, and at a `lastLook`: a storage that repeats its calls may have begun one upload more than it told of.
 *
 * @throws StorageError `STORAGE_UNAVAILABLE` for a recorded upload in a storage that knows none.
 */
export async function begunUploads(
  { multipart }: ObjectStorage,
  { bucket, key, storageKey, uploadId }: Leftover,
  lastLook: boolean,
): Promise<readonly MultipartReference[]> {
  const at = { bucket, key: storageKey ?? key }
  const ids = new Set<string>()
  if (uploadId !== null) {
    if (!multipart) throw cannotAbort(uploadId)
    if ((await multipart.listParts({ ...at, uploadId, after: 0 })) !== null) ids.add(uploadId)
  }
  if (multipart && storageKey !== null && (uploadId === null || lastLook)) {
    for (const id of await multipart.list(at)) ids.add(id)
  }
  return [...ids].map((id) => ({ ...at, uploadId: id }))
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
