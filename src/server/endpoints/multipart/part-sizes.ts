const MIB = 1024 ** 2

/** What a bucket takes in parts, in bytes: 5 TiB, the limit of S3. */
export const MAX_MULTIPART_SIZE = 5 * 1024 ** 4

/** The highest number of a part (S3). */
export const MAX_PARTS = 10_000

/** Small enough that a lost part costs little, large enough that a request's own cost is small beside it. */
const USUAL_PART_SIZE = 8 * MIB

/**
 * The size of every part but the last, in bytes: 8 MiB, or, for a file that would have more than 10,000 of these, the
 * fewest whole MiB that keep it at 10,000 parts. S3 takes parts of 5 MiB (the last one aside) to 5 GiB.
 *
 * It follows from the announced size alone and must never change: uploads that an earlier version began are resumed.
 */
export function partSizeOf(size: number): number {
  return Math.max(USUAL_PART_SIZE, Math.ceil(size / (MAX_PARTS * MIB)) * MIB)
}

/** How many parts an upload has; one of 0 bytes has one, which is empty. */
export function partCountOf(size: number): number {
  return Math.max(1, Math.ceil(size / partSizeOf(size)))
}

/** The size of one part, in bytes. */
export function sizeOfPart(size: number, partNumber: number): number {
  const partSize = partSizeOf(size)
  return Math.min(partSize, size - (partNumber - 1) * partSize)
}
