import { StorageError } from '../../core/errors.js'
import type { Leftover } from '../../core/records.js'
import type { StorageObjectStore } from '../../core/store.js'
import { GRACE_SECONDS, secondsAfter } from '../lifetimes.js'
import type { ServerParts } from '../server-parts.js'

/**
 * What became of a leftover: `forgotten` (nothing is there, nothing can come any more), `removed` (its bytes; remembered
 * until a later run finds nothing), `waiting` (a URL may still read or write there), `kept` (a live object lies there).
 */
export type SettledLeftover = 'forgotten' | 'removed' | 'waiting' | 'kept'

/** Brings one leftover a step nearer to its end. Rejects, and changes nothing, where the bucket doesn't answer. */
export async function settleLeftover(
  { storage, records, downloadSeconds, now }: ServerParts,
  leftover: Leftover,
): Promise<SettledLeftover> {
  const { attemptId, bucket, storageKey, since, writableUntil } = leftover
  if (leftover.uploadId !== null || storageKey === null) throw cannotAbort(leftover)
  const moment = now()
  if (moment < secondsAfter(since, downloadSeconds)) return 'waiting'

  const stored = await storage.head({ bucket, key: storageKey })
  if (stored === null) {
    if (moment < secondsAfter(writableUntil, GRACE_SECONDS)) return 'waiting'
    await records.objects.forgetLeftover({ attemptId })
    return 'forgotten'
  }
  if (await isInUse(records.objects, leftover)) return 'kept'
  await storage.remove({ bucket, key: storageKey })
  return 'removed'
}

/** Whether a live row of the key has its bytes where the leftover's are: under that storage key, or under the key itself. */
async function isInUse(objects: StorageObjectStore, { bucket, key, storageKey }: Leftover): Promise<boolean> {
  // In this order, so that a row which is confirmed in between is seen at least once.
  const pending = await objects.findPending({ bucket, key })
  const active = await objects.findActive({ bucket, key })
  return [pending, active].some((row) => row !== null && (row.storageKey ?? row.key) === storageKey)
}

/** Parts that were uploaded are no object yet, so that no look at the key can tell whether they are there. */
function cannotAbort({ uploadId }: Leftover): StorageError {
  return new StorageError('STORAGE_UNAVAILABLE', {
    message: `This storage can't abort multipart uploads, so that of upload id ${JSON.stringify(uploadId)} can't be cleaned up.`,
  })
}
