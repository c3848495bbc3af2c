import {
  MAX_PARTS,
  type MultipartReference,
  type MultipartStorage,
  type StoredPart,
} from '../../core/object-storage.js'
import type { ErrorContext } from '../../core/reporter.js'
import type { StorageObject } from '../../core/store/records.js'
import { bytesOf } from '../storage.js'
import type { MultipartDependencies } from '../dependencies.js'
import { releaseOnFailure } from './begin.js'
import { incomplete } from './errors.js'
import { DEFAULT_PART_SIZE } from './sizes.js'

const MIB = 1024 ** 2

/** Largest file in a multipart upload, in bytes: 5 TiB, the limit of S3. */
const MAX_MULTIPART_SIZE = 5 * 1024 ** 4

/** Largest part in S3, in bytes. */
const MAX_PART_SIZE = 5 * 1024 ** 3

/** How a file is divided into parts. */
export interface Parts {
  /** The size of every part except the last, in bytes. */
  readonly partSize: number
  readonly count: number
  /** Returns the size of a part in bytes. */
  readonly sizeOf: (partNumber: number) => number
}

/**
 * Divides a file of this size into parts of 8 MiB, or of the smallest whole number of MiB that keeps it at the most parts that the storage
 * takes. S3 accepts parts of 5 MiB (the last one may be smaller) to 5 GiB. A file of 0 bytes has one empty part, which the server
 * writes.
 * The result depends on the size and `maxParts` only and must never change, because uploads from an earlier version can be resumed.
 */
export function partsOf(size: number, storage: MultipartLimits): Parts {
  const partSize = Math.max(DEFAULT_PART_SIZE, Math.ceil(size / (maxPartsOf(storage) * MIB)) * MIB)
  return {
    partSize,
    count: Math.max(1, Math.ceil(size / partSize)),
    sizeOf: (partNumber) => Math.min(partSize, size - (partNumber - 1) * partSize),
  }
}

/** Returns the largest file that the storage takes in parts, in bytes. */
export function maxMultipartSize(storage: MultipartLimits): number {
  return Math.min(MAX_MULTIPART_SIZE, maxPartsOf(storage) * MAX_PART_SIZE)
}

type MultipartLimits = Pick<MultipartStorage, 'maxParts'>

function maxPartsOf({ maxParts }: MultipartLimits): number {
  return maxParts ?? MAX_PARTS
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
  checkParts(partsOf(row.declaredSize ?? 0, multipart), row, stored, now())
  return multipart.complete({ ...at, parts: stored.map(({ partNumber, eTag }) => ({ partNumber, eTag })) })
}

/** Checks that every part is there with its expected size, and no others. Their sizes then add up to the file's. */
function checkParts(
  { count, sizeOf }: Parts,
  row: StorageObject,
  stored: readonly StoredPart[],
  now: Date,
): void {
  const matching = stored.filter((part) => part.partNumber <= count && part.size === sizeOf(part.partNumber))
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
