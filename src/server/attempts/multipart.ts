import type { MultipartReference, MultipartStorage, StoredPart } from '../../core/object-storage.js'
import type { ErrorContext } from '../../core/reporter.js'
import type { StorageObject } from '../../core/store/records.js'
import { bytesOf } from '../record-bytes.js'
import type { PendingMultipart } from '../request-input/attempt-reference.js'
import type { MultipartDependencies } from '../server-dependencies.js'
import { mismatch } from './confirm-upload.js'
import { partCountOf, sizeOfPart } from './part-sizes.js'
import { releaseOnFailure } from './reserve-upload.js'

/** Creates the multipart upload of a reservation in the bucket and records its id. Releases the reservation if that fails. */
export function beginMultipart(
  dependencies: MultipartDependencies,
  reserved: StorageObject,
  contentType: string,
  context: ErrorContext,
  signal?: AbortSignal,
): Promise<PendingMultipart> {
  const { multipart, records } = dependencies
  const { bucket, key, id } = reserved
  // The bucket comes second: if a later step fails or the process stops, the store already has the storage key, and
  // `cleanUp` finds the upload there even without its id.
  return releaseOnFailure(dependencies, reserved, context, async () => {
    const { uploadId } = await multipart.create({
      ...bytesOf(reserved, signal && { signal }),
      contentType,
      attemptId: id,
    })
    return { ...(await records.objects.setUploadId({ bucket, key, id, uploadId })), uploadId }
  })
}

/**
 * Completes the upload in the bucket. Ignores whether this call did: an earlier or concurrent request may have, so the caller
 * checks the object.
 * @throws StorageError `UPLOAD_MISMATCH`, before completing anything, if the parts do not match the upload request.
 */
export async function completeInBucket(
  { multipart }: MultipartDependencies,
  row: StorageObject,
  at: MultipartReference,
): Promise<void> {
  const stored = await storedParts(multipart, at)
  if (stored === null) return
  checkParts(row.declaredSize ?? 0, stored)
  await multipart.complete({ ...at, parts: stored.map(({ partNumber, eTag }) => ({ partNumber, eTag })) })
}

/** Checks that every part is there with its expected size, and no others. Their sizes then add up to the file's. */
function checkParts(size: number, stored: readonly StoredPart[]): void {
  const count = partCountOf(size)
  const matching = stored.filter(
    (part) => part.partNumber <= count && part.size === sizeOfPart(size, part.partNumber),
  )
  const found = new Set(matching.map(({ partNumber }) => partNumber)).size
  if (found === count && stored.length === count) return
  throw mismatch(
    `The bucket has ${found} of the ${count} parts with the expected size. Upload the missing parts and complete again.`,
  )
}

/** Returns all parts in the bucket by part number, or `null` if there is no such upload. */
async function storedParts(
  multipart: MultipartStorage,
  at: MultipartReference,
): Promise<readonly StoredPart[] | null> {
  const parts: StoredPart[] = []
  for (let after: number | null = 0; after !== null;) {
    const page = await multipart.listParts({ ...at, after })
    if (page === null) return null
    parts.push(...page.parts)
    after = page.next
  }
  return parts
}
