import type { StorageObjectStore } from '../core/store/contract.js'
import type { StorageObject } from '../core/store/records.js'
import type { DownloadLifetimes } from './dependencies.js'
import { marked } from './jobs/readable-mark.js'
import { secondsAfter } from './url-terms.js'

/**
 * Lets `cleanUp` remove the bytes of a replaced object once its own download URLs have expired. Otherwise it waits for as long as the
 * URLs of any object last, because the leftover doesn't tell which object it was.
 */
export async function deferReplacedBytes(
  objects: StorageObjectStore,
  { urlSecondsOf, maxSeconds }: DownloadLifetimes,
  replaced: StorageObject,
  now: Date,
): Promise<void> {
  if (replaced.storageKey === null) return
  const seconds = urlSecondsOf(replaced)
  if (seconds >= maxSeconds) return
  const until = marked(secondsAfter(now, seconds))
  await objects.deferLeftover({ attemptId: replaced.attemptId, until })
}
