import type { StorageObjectStore } from '../../../core/store/contract.js'
import type { Leftover } from '../../../core/store/records.js'
import { isUnsupportedCall } from '../../../core/store/unsupported-call.js'
import { pagesOf } from '../pages.js'

/**
 * Yields the pages of the leftovers that are due, or of all leftovers if the driver is of version 1.5. Those that appear after
 * `start` are left to the next run.
 */
export async function* dueLeftovers(
  objects: StorageObjectStore,
  start: Date,
  limit: number | null | undefined,
): AsyncGenerator<readonly Leftover[], void> {
  let isScheduled = true
  async function page(after: Leftover | null): Promise<readonly Leftover[]> {
    if (isScheduled) {
      try {
        return await objects.listLeftovers({ dueBefore: start, limit, after })
      } catch (error) {
        if (!isUnsupportedCall(error)) throw error
        isScheduled = false
      }
    }
    return objects.listLeftovers({ limit, after })
  }

  for await (const leftovers of pagesOf(page)) {
    yield leftovers.filter(({ since }) => since <= start)
    // By `since`, only newer ones follow. By due date, those that were put off follow the new ones.
    if (!isScheduled && leftovers.at(-1)!.since > start) return
  }
}
