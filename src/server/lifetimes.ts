import type { StorageObject } from '../core/store/records.js'
import { notFound } from './request-input/attempt-reference.js'

/** Default lifetime of a signed URL, in seconds. */
export const DEFAULT_URL_SECONDS = 900

/** Longest lifetime of a signed URL, in seconds. S3 signatures (V4) expire after 7 days. */
export const LONGEST_URL_SECONDS = 7 * 24 * 60 * 60

/** How long an upload may continue after its URL has expired, in addition to its transfer time, in seconds. */
export const GRACE_SECONDS = 60 * 60

/** The slowest connection that a reservation allows for, in bytes per second. */
const SLOWEST_CONNECTION = 64 * 1024

/** Returns how long the reservation of a single-PUT upload lasts, in seconds. */
export function uploadReservationSeconds(
  size: number,
  urlSeconds: number,
  pendingTtlSeconds: number,
): number {
  return Math.min(pendingTtlSeconds, urlSeconds + GRACE_SECONDS + Math.ceil(size / SLOWEST_CONNECTION))
}

/**
 * Returns when a URL that is signed now expires. A URL never outlives its reservation.
 * @throws StorageError `OBJECT_NOT_FOUND` if the reservation has expired.
 */
export function urlExpiry({ expiresAt }: StorageObject, urlSeconds: number, now: Date): Date {
  if (expiresAt === null || expiresAt <= now) throw notFound()
  const urlEnd = secondsAfter(now, urlSeconds)
  return urlEnd < expiresAt ? urlEnd : expiresAt
}

/**
 * Returns the period of a download URL that browsers can cache. Every call within the same third of `urlSeconds` returns the
 * same period, and so the same URL. It is valid for the other two thirds at least.
 */
export function cacheablePeriod(now: Date, urlSeconds: number): { signedAt: Date; expiresAt: Date } {
  const third = (urlSeconds * 1000) / 3
  const signedAt = new Date(Math.floor(now.getTime() / third) * third)
  return { signedAt, expiresAt: secondsAfter(signedAt, urlSeconds) }
}

export function secondsAfter(date: Date, seconds: number): Date {
  return new Date(date.getTime() + seconds * 1000)
}
