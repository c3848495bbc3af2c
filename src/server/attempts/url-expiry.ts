import type { StorageObject } from '../../core/store/records.js'
import { earlierOf, secondsAfter } from '../lifetimes.js'
import { notFound } from '../request-input/object-input.js'

/**
 * When a URL ends that an attempt is given now: none outlives its reservation.
 * @throws StorageError `OBJECT_NOT_FOUND` for a reservation that has lapsed.
 */
export function urlExpiry({ expiresAt }: StorageObject, urlSeconds: number, now: Date): Date {
  if (expiresAt === null || expiresAt <= now) throw notFound()
  return earlierOf(secondsAfter(now, urlSeconds), expiresAt)
}
