import { essenceOf, servableMediaType } from '../core/http/media-type.js'
import type { Disposition, SignDownloadInput } from '../core/object-storage.js'
import { timeOfAttempt } from '../core/store/attempt-id.js'
import type { StorageObject } from '../core/store/records.js'

/** Default lifetime of a signed URL, in seconds. */
export const DEFAULT_URL_SECONDS = 900

/** Longest lifetime of a signed URL, in seconds. S3 signatures (V4) expire after 7 days. */
export const LONGEST_URL_SECONDS = 7 * 24 * 60 * 60

/** How a URL that browsers cache is signed. */
type CacheableTerms = Required<Pick<SignDownloadInput, 'signedAt' | 'expiresAt' | 'cacheControl'>>

/**
 * Returns the same terms for every call within a third of `urlSeconds`, so that browsers can cache the URL. The bytes leave the cache
 * when it expires, even if they are loaded at the end of that third.
 *
 * Scripts get another URL: S3 responds without CORS headers to `<img>`, and browsers would serve that response to scripts from their
 * cache. The thirds of these URLs begin in the middle of the others', so they never have the same `signedAt`.
 */
export function cacheableTerms(
  now: Date,
  urlSeconds: number,
  isForScripts: boolean,
  object: Pick<StorageObject, 'temporaryUntil'>,
): CacheableTerms {
  const third = (urlSeconds * 1000) / 3
  const shift = isForScripts ? third / 2 : 0
  const signedAt = new Date(Math.floor((now.getTime() - shift) / third) * third + shift)
  const expiresAt = notAfterEnd(secondsAfter(signedAt, urlSeconds), object)
  // The URL may be read until it expires, and what was read then must leave the cache before the object is gone.
  const untilEnd = object.temporaryUntil
    ? (object.temporaryUntil.getTime() - expiresAt.getTime()) / 1000
    : Infinity
  const maxAge = Math.floor(Math.min((urlSeconds * 2) / 3, untilEnd))
  return { signedAt, expiresAt, cacheControl: `private, immutable, max-age=${maxAge}` }
}

/** Returns a moment, or the end of the object if that comes first: no URL outlives it. */
export function notAfterEnd(moment: Date, { temporaryUntil }: Pick<StorageObject, 'temporaryUntil'>): Date {
  return temporaryUntil !== null && temporaryUntil < moment ? temporaryUntil : moment
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

/** How long an upload may continue after its URL has expired, in addition to its transfer time, in seconds. */
export const GRACE_SECONDS = 60 * 60

/**
 * Returns when the upload URL of an attempt has expired, by every clock of the processes. It may be signed later than the attempt
 * begins, by a process whose clock is behind. A clock that was set back can make an id newer than now.
 */
export function uploadURLEnd({ attemptId }: StorageObject, urlSeconds: number, now: Date): Date {
  const begun = new Date(Math.min(timeOfAttempt(attemptId), now.getTime()))
  return secondsAfter(begun, urlSeconds + GRACE_SECONDS)
}

export function secondsAfter(date: Date, seconds: number): Date {
  return new Date(date.getTime() + seconds * 1000)
}
