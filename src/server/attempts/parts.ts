import type { MultipartReference, MultipartStorage, StoredPart } from '../../core/object-storage.js'
import type { ErrorContext } from '../../core/reporter.js'
import type { StorageObject } from '../../core/store/records.js'
import { bytesOf } from '../storage.js'
import type { MultipartDependencies } from '../dependencies.js'
import { incomplete, releaseOnFailure } from './attempt.js'

const MIB = 1024 ** 2

/** Largest file in a multipart upload, in bytes: 5 TiB, the limit of S3. */
export const MAX_MULTIPART_SIZE = 5 * 1024 ** 4

/** Highest part number in S3, and thus the maximum number of parts. */
export const MAX_PARTS = 10_000

/** Small enough that resending a part is cheap, and large enough that the overhead of a request is negligible. */
const DEFAULT_PART_SIZE = 8 * MIB

/**
 * Returns the size of every part except the last, in bytes: 8 MiB, or the smallest whole number of MiB that keeps the file
 * at 10,000 parts. S3 accepts parts of 5 MiB (the last one may be smaller) to 5 GiB.
 * The result depends on the file size only and must never change, because uploads from an earlier version can be resumed.
 */
export function partSizeOf(size: number): number {
  return Math.max(DEFAULT_PART_SIZE, Math.ceil(size / (MAX_PARTS * MIB)) * MIB)
}

/** Returns the number of parts. A file of 0 bytes has one empty part, which the server writes. */
export function partCountOf(size: number): number {
  return Math.max(1, Math.ceil(size / partSizeOf(size)))
}

export function sizeOfPart(size: number, partNumber: number): number {
  const partSize = partSizeOf(size)
  return Math.min(partSize, size - (partNumber - 1) * partSize)
}

export type PendingMultipart = StorageObject & { readonly uploadId: string }

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
  // The bucket comes second, so `cleanUp` finds the upload under the storage key, even without its id, if a later step fails.
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
 * Completes the upload in the bucket. Returns whether this call did, because another may have. Default of `sent`: the listed parts.
 * @throws StorageError `UPLOAD_MISMATCH`, before completing anything, if the parts do not match the upload request.
 */
export async function completeInBucket(
  multipart: MultipartStorage,
  row: StorageObject,
  at: MultipartReference,
  now: () => Date,
  sent?: readonly StoredPart[],
): Promise<boolean> {
  let stored = sent ?? (await storedParts(multipart, at))
  // No URL is signed for the only part of an empty upload, so the server writes it.
  if (stored?.length === 0 && row.declaredSize === 0 && multipart.writePart) {
    const writableUntil = row.expiresAt
    const eTag = await multipart.writePart({ ...at, partNumber: 1, body: new Uint8Array(), writableUntil })
    stored = eTag === null ? null : [{ partNumber: 1, size: 0, eTag }]
  }
  if (stored === null) return false
  checkParts(row, stored, now())
  return multipart.complete({ ...at, parts: stored.map(({ partNumber, eTag }) => ({ partNumber, eTag })) })
}

/** Checks that every part is there with its expected size, and no others. Their sizes then add up to the file's. */
function checkParts(row: StorageObject, stored: readonly StoredPart[], now: Date): void {
  const size = row.declaredSize ?? 0
  const count = partCountOf(size)
  const matching = stored.filter(
    (part) => part.partNumber <= count && part.size === sizeOfPart(size, part.partNumber),
  )
  const found = new Set(matching.map(({ partNumber }) => partNumber)).size
  if (found === count && stored.length === count) return
  throw incomplete(
    row,
    now,
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
