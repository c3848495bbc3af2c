import type { StorageObjectStore } from '../core/store/contract.js'
import type { StorageObject } from '../core/store/records.js'
import type { DownloadLifetimes } from './dependencies.js'
import { notAfterEnd, secondsAfter } from './url-terms.js'

/**
 * Lets `cleanUp` remove the bytes of a replaced object once its own download URLs have expired. Otherwise it waits for as long as the
 * URLs of any object last, because the leftover doesn't tell which object it was.
 */
export async function limitReplacedBytes(
  objects: StorageObjectStore,
  { urlSecondsOf, maxSeconds }: DownloadLifetimes,
  replaced: StorageObject,
  now: Date,
): Promise<void> {
  const { attemptId, storageKey } = replaced
  if (storageKey === null) return
  const seconds = urlSecondsOf(replaced)
  if (seconds >= maxSeconds) return
  const readableUntil = notAfterEnd(secondsAfter(now, seconds), replaced)
  await objects.deferLeftover({ attemptId, until: now, readableUntil })
}
