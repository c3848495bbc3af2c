import type { Leftover, StorageObject } from '../../core/store/records.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { GRACE_SECONDS, secondsAfter } from '../lifetimes.js'
import type { ServerParts } from '../server-parts.js'
import { abortUploads, begunUploads } from './begun-uploads.js'

/**
 * What became of a leftover: `forgotten` (nothing is there, nothing can come any more), `removed` (its bytes or its parts;
 * remembered until a later run finds nothing), `waiting` (a URL may still read or write there), `kept` (it is in use).
 */
export type SettledLeftover = 'forgotten' | 'removed' | 'waiting' | 'kept'

/** Brings one leftover a step nearer to its end. Rejects where the bucket doesn't answer; then it is remembered as it was. */
export async function settleLeftover(parts: ServerParts, leftover: Leftover): Promise<SettledLeftover> {
  const { records, now } = parts
  const moment = now()
  const nothingCanCome = moment >= secondsAfter(leftover.writableUntil, GRACE_SECONDS)
  // Uploads before bytes: an upload that was completed in between has become bytes, and is found as such.
  const uploads = await settleUploads(parts, leftover, nothingCanCome)
  const bytes = await settleBytes(parts, leftover, moment)
  if (uploads === 'removed' || bytes === 'removed') return 'removed'
  if (uploads === 'kept' || bytes === 'kept') return 'kept'
  if (bytes === 'waiting' || !nothingCanCome) return 'waiting'
  await records.objects.forgetLeftover({ attemptId: leftover.attemptId })
  return 'forgotten'
}

/** Nobody reads an upload that isn't complete, so it can go at once. */
async function settleUploads(
  { storage, records }: ServerParts,
  leftover: Leftover,
  lastLook: boolean,
): Promise<'none' | 'removed' | 'kept'> {
  const uploads = await begunUploads(storage, leftover, lastLook)
  if (uploads.length === 0) return 'none'
  const live = await liveRows(records.objects, leftover)
  const inUse = live.some((row) =>
    leftover.storageKey === null ? row.uploadId === leftover.uploadId : liesThere(row, leftover.storageKey),
  )
  if (inUse) return 'kept'
  await abortUploads(storage, uploads)
  return 'removed'
}

async function settleBytes(
  { storage, records, downloadSeconds }: ServerParts,
  leftover: Leftover,
  moment: Date,
): Promise<'none' | 'removed' | 'waiting' | 'kept'> {
  const { bucket, storageKey, since } = leftover
  // Under the key itself: the application's own business.
  if (storageKey === null) return 'none'
  if (moment < secondsAfter(since, downloadSeconds)) return 'waiting'
  if ((await storage.head({ bucket, key: storageKey })) === null) return 'none'
  if ((await liveRows(records.objects, leftover)).some((row) => liesThere(row, storageKey))) return 'kept'
  await storage.remove({ bucket, key: storageKey })
  return 'removed'
}

async function liveRows(
  objects: StorageObjectStore,
  { bucket, key }: Leftover,
): Promise<readonly StorageObject[]> {
  // In this order, so that a row which is confirmed in between is seen at least once.
  const pending = await objects.findPending({ bucket, key })
  const active = await objects.findActive({ bucket, key })
  return [pending, active].filter((row) => row !== null)
}

/** Whether a live row has its bytes at this storage key, or under its own key, which is the same. */
function liesThere(row: StorageObject, storageKey: string): boolean {
  return (row.storageKey ?? row.key) === storageKey
}
