/** How long a signed URL lives unless the application says otherwise, in seconds. */
export const DEFAULT_URL_SECONDS = 900

/** The longest life of a signed URL, in seconds: signatures of S3 (V4) end after seven days. */
export const LONGEST_URL_SECONDS = 7 * 24 * 60 * 60

/** An upload that began in time may go on this long after its URL has ended, in seconds, beside the time its bytes need. */
export const GRACE_SECONDS = 60 * 60

/** The slowest line that an upload is waited for, in bytes a second. */
const SLOWEST_LINE = 64 * 1024

/** For how many seconds the reservation of an upload in one PUT lasts. */
export function uploadReservationSeconds(
  size: number,
  urlSeconds: number,
  pendingTtlSeconds: number,
): number {
  return Math.min(pendingTtlSeconds, urlSeconds + GRACE_SECONDS + Math.ceil(size / SLOWEST_LINE))
}

export function secondsAfter(date: Date, seconds: number): Date {
  return new Date(date.getTime() + seconds * 1000)
}

export function earlierOf(one: Date, other: Date): Date {
  return one < other ? one : other
}
