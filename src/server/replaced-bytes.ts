import type { Report } from '../core/reporter.js'
import type { StorageObjectStore } from '../core/store/contract.js'
import type { StorageObject } from '../core/store/records.js'
import type { DownloadLifetimes } from './dependencies.js'
import { notAfterEnd, secondsAfter } from './url-terms.js'

export interface ReplacedBytesOptions {
  readonly download: DownloadLifetimes
  readonly objects: () => StorageObjectStore
  readonly report: Report
  readonly now: () => Date
}

/**
 * Returns a function that notes when the download URLs of a replaced object have expired, so that `cleanUp` removes its bytes then.
 * Otherwise they wait for as long as the URLs of any object last, which is right if all last equally long: then it returns `undefined`.
 */
export function replacedBytesLimit({ download, objects, report, now }: ReplacedBytesOptions) {
  if (!download.isByObject) return undefined
  return async (replaced: StorageObject): Promise<void> => {
    const { attemptId, storageKey } = replaced
    if (storageKey === null) return
    try {
      const seconds = download.urlSecondsOf(replaced)
      if (seconds >= download.maxSeconds) return
      const readableUntil = notAfterEnd(secondsAfter(now(), seconds), replaced)
      await objects().deferLeftover({ attemptId, until: now(), readableUntil })
    } catch (error) {
      report(error, { operation: 'download.expiresIn' })
    }
  }
}
