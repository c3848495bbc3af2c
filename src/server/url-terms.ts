import { essenceOf, servableMediaType } from '../core/http/media-type.js'
import type { Disposition, SignDownloadInput } from '../core/object-storage.js'
import { secondsAfter } from './attempts/attempt.js'

/** Default lifetime of a signed URL, in seconds. */
export const DEFAULT_URL_SECONDS = 900

/** Longest lifetime of a signed URL, in seconds. S3 signatures (V4) expire after 7 days. */
export const LONGEST_URL_SECONDS = 7 * 24 * 60 * 60

/** Returns the same period for every call within a third of `urlSeconds`, so that browsers can cache the URL. */
export function cacheablePeriod(now: Date, urlSeconds: number): { signedAt: Date; expiresAt: Date } {
  const third = (urlSeconds * 1000) / 3
  const signedAt = new Date(Math.floor(now.getTime() / third) * third)
  return { signedAt, expiresAt: secondsAfter(signedAt, urlSeconds) }
}

export const DISPOSITIONS = ['inline', 'attachment'] as const satisfies readonly Disposition[]

/** Types that browsers show without running any code of the file. */
const SHOWN = /^(?:image|audio|video)\/|^(?:application\/pdf|text\/plain)$/

/** Returns the type to serve, and `inline` only for types that are safe on the bytes' origin. `image/svg+xml` can have scripts. */
export function presentationOf(
  contentType: string | null,
  wanted: Disposition,
): Pick<SignDownloadInput, 'contentType' | 'disposition'> {
  const type = servableMediaType(contentType ?? '')
  const essence = essenceOf(type ?? '')
  return {
    contentType: type,
    disposition: SHOWN.test(essence) && !essence.endsWith('+xml') ? wanted : 'attachment',
  }
}
