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
 *
 * The result depends on the file size only and must never change, because uploads from an earlier version can be resumed.
 */
export function partSizeOf(size: number): number {
  return Math.max(DEFAULT_PART_SIZE, Math.ceil(size / (MAX_PARTS * MIB)) * MIB)
}

/** Returns the number of parts. A file of 0 bytes has one empty part. */
export function partCountOf(size: number): number {
  return Math.max(1, Math.ceil(size / partSizeOf(size)))
}

/** Returns the size of one part, in bytes. */
export function sizeOfPart(size: number, partNumber: number): number {
  const partSize = partSizeOf(size)
  return Math.min(partSize, size - (partNumber - 1) * partSize)
}
