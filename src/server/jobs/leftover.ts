import { StorageError } from '../../core/errors.js'
import type { MultipartReference, ObjectStorage } from '../../core/object-storage.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { TEMPORARY_GRACE_SECONDS } from '../../core/store/inputs/temporary.js'
import type { Leftover, ObjectReference, StorageObject } from '../../core/store/records.js'
import { GRACE_SECONDS, secondsAfter } from '../url-terms.js'
import type { DownloadLifetimes } from '../dependencies.js'
import type { JobContext } from './job.js'

/**
 * The result for a leftover.
 * - `forgotten`: nothing is stored and nothing can be written any more; the record is deleted.
 * - `removed`: its bytes or parts were removed; a run five minutes later, or more, verifies that nothing is left.
 * - `waiting`: a signed URL may still read or write the bytes. A later run looks again.
 * - `kept`: an active object or pending upload uses the bytes.
 */
export type SettledLeftover = 'forgotten' | 'removed' | 'waiting' | 'kept'

/** Seconds until a leftover is checked again if a check fails. */
const RETRY_SECONDS = 60 * 60

/** For how long a run has a leftover to itself. If its process dies, another run takes the leftover then. */
const CLAIM_SECONDS = 5 * 60

/** Seconds until bytes that a row uses are checked again. A row that ends leaves a new leftover. */
const KEPT_SECONDS = 24 * 60 * 60

/** Decides which bucket calls a run makes for a leftover. */
export interface Look {
  /** The job that looks, as errors are reported with. */
  readonly operation: string
  readonly time: Date
  /** When the bytes may be removed. For `cleanUp`, once their download URLs have expired. */
  readonly readableUntil: Date
  /** When nothing can be written any more. */
  readonly closedAt: Date
  /** Nothing can be read or written any more. If nothing is there either, the leftover is forgotten. */
  readonly isLast: boolean
}

/**
 * Like {@link settleLeftover}, unless another run looks at the leftover or has done so since it was listed: returns `null`. Takes the
 * leftover by putting it off.
 */
export async function settleDueLeftover(
  context: JobContext,
  leftover: Leftover,
  look: Look,
  dueBefore: Date,
): Promise<SettledLeftover | null> {
  const { attemptId } = leftover
  const until = unlikeFirstLook(CLAIM_SECONDS, look)
  const isTaken = await context.records.objects.deferLeftover({ attemptId, until, dueBefore })
  return isTaken ? settleLeftover(context, leftover, look) : null
}

/** Takes the next step for a leftover, and defers the next look until it can change something, or for an hour if this fails. */
export async function settleLeftover(
  context: JobContext,
  leftover: Leftover,
  look: Look,
): Promise<SettledLeftover> {
  const { records, report } = context
  const { attemptId } = leftover
  try {
    const outcome = await settle(context, leftover, look)
    const until = nextLook(outcome, look)
    if (until) await records.objects.deferLeftover({ attemptId, until })
    return outcome
  } catch (error) {
    await records.objects
      .deferLeftover({ attemptId, until: unlikeFirstLook(RETRY_SECONDS, look) })
      .catch((failure: unknown) => report(failure, { operation: look.operation }))
    throw error
  }
}

/** Returns a look that leaves the bytes in place while download URLs may read them. */
export function lookForCleanUp(
  leftover: Leftover,
  {
    now,
    download,
  }: {
    readonly now: () => Date
    readonly download: Pick<DownloadLifetimes, 'maxSeconds'>
  },
): Look {
  const { since, storageKey } = leftover
  // Without a storage key, the bytes are under a key that the application manages.
  const readableUntil = storageKey === null ? since : lastURLEnd(leftover, download.maxSeconds)
  return lookAt('cleanUp', leftover, now(), readableUntil)
}

/** Returns when the last download URL of the bytes has expired. The grace is for clocks that differ. */
function lastURLEnd({ since, readableUntil }: Leftover, maxSeconds: number): Date {
  const latest = secondsAfter(since, maxSeconds)
  const end = readableUntil && secondsAfter(readableUntil, TEMPORARY_GRACE_SECONDS)
  return end && end < latest ? end : latest
}

/** Returns a look that removes the bytes whatever download URLs are still valid. */
export function lookForErasure(operation: string, leftover: Leftover, now: Date): Look {
  const { since } = leftover
  // The clock that recorded the leftover may be ahead of this one.
  return lookAt(operation, leftover, now > since ? now : since, since)
}

function lookAt(operation: string, { writableUntil }: Leftover, time: Date, readableUntil: Date): Look {
  const closedAt = secondsAfter(writableUntil, GRACE_SECONDS)
  return { operation, time, readableUntil, closedAt, isLast: time >= readableUntil && time >= closedAt }
}

/** Returns when the next look is worth its bucket calls. `null`: no later than it is due already. */
function nextLook(outcome: SettledLeftover, { time, readableUntil, closedAt, isLast }: Look): Date | null {
  if (outcome === 'forgotten') return null
  if (outcome === 'kept') return secondsAfter(time, KEPT_SECONDS)
  if (isLast) return null
  return time < readableUntil ? readableUntil : closedAt
}

/** Returns a time that differs from `readableUntil`, which marks leftovers whose first look succeeded. */
function unlikeFirstLook(seconds: number, { time, readableUntil }: Look): Date {
  const until = secondsAfter(time, seconds)
  return until.getTime() === readableUntil.getTime() ? new Date(until.getTime() + 1) : until
}

async function settle(context: JobContext, leftover: Leftover, look: Look): Promise<SettledLeftover> {
  // Uploads before bytes: an upload that is completed in between becomes an object, which settleBytes then finds.
  const uploads = await settleUploads(context, leftover, look)
  const bytes = await settleBytes(context, leftover, look)
  if (uploads === 'removed' || bytes === 'removed') return 'removed'
  if (uploads === 'kept' || bytes === 'kept') return 'kept'
  if (!look.isLast) return 'waiting'
  await context.records.objects.forgetLeftover({ attemptId: leftover.attemptId })
  return 'forgotten'
}

/** Aborts the open multipart uploads, without waiting: an incomplete upload can't be read. */
async function settleUploads(
  { storage, records }: JobContext,
  leftover: Leftover,
  look: Look,
): Promise<'none' | 'removed' | 'kept'> {
  const uploads = await openUploads(storage, leftover, listsByKey(leftover, look))
  if (uploads.length === 0) return 'none'
  const live = await liveRows(records.objects, leftover)
  const inUse = live.some((row) =>
    leftover.storageKey === null
      ? row.uploadId === leftover.uploadId
      : usesStorageKey(row, leftover.storageKey),
  )
  if (inUse) return 'kept'
  await abortUploads(storage, uploads)
  return 'removed'
}

/** Returns the open uploads of an ended attempt: the recorded one and, with `byKey`, any other under its storage key. */
async function openUploads(
  { multipart }: ObjectStorage,
  { bucket, key, storageKey, uploadId }: Leftover,
  byKey: boolean,
): Promise<readonly MultipartReference[]> {
  const at = { bucket, key: storageKey ?? key }
  const ids = new Set<string>()
  if (uploadId !== null) {
    if (!multipart) {
      throw new StorageError('STORAGE_UNAVAILABLE', {
        message: `The storage does not support multipart uploads, so upload ${JSON.stringify(uploadId)} can't be aborted.`,
      })
    }
    if ((await multipart.listParts({ ...at, uploadId, after: 0 })) !== null) ids.add(uploadId)
  }
  if (multipart && byKey) {
    for (const id of await multipart.list(at)) ids.add(id)
  }
  return [...ids].map((id) => ({ ...at, uploadId: id }))
}

/**
 * Returns whether to list the uploads under the storage key, which costs more than other calls and finds only uploads that a retry
 * started unrecorded: in the first look without a recorded upload, and in the last one.
 */
function listsByKey(
  { storageKey, uploadId, dueAt }: Leftover,
  { time, readableUntil, closedAt, isLast }: Look,
): boolean {
  if (storageKey === null) return false
  const hasLooked = dueAt?.getTime() === readableUntil.getTime()
  return isLast || (uploadId === null && time < closedAt && !hasLooked)
}

/** Tries to abort every upload, then rejects with the first failure, if any. */
async function abortUploads(
  { multipart }: ObjectStorage,
  uploads: readonly MultipartReference[],
): Promise<void> {
  const results = await Promise.allSettled(uploads.map(async (upload) => multipart?.abort(upload)))
  const failure = results.find((result) => result.status === 'rejected')
  if (failure) throw failure.reason
}

async function settleBytes(
  context: JobContext,
  leftover: Leftover,
  { time, readableUntil }: Look,
): Promise<'none' | 'removed' | 'kept'> {
  const { bucket, storageKey } = leftover
  if (storageKey === null || time < readableUntil) return 'none'
  const stored = await context.storage.head({ bucket, key: storageKey })
  if (stored === null) return 'none'
  return removeUnused(context, { ...leftover, storageKey, eTag: stored.eTag })
}

type BytesOfAttempt = Pick<Leftover, 'bucket' | 'key' | 'writableUntil'> & {
  readonly storageKey: string
  readonly eTag: string | null
}

/** Removes the bytes of an attempt that is no longer live, unless a live row at its key uses them. */
export async function removeUnused(
  { storage, records }: JobContext,
  { bucket, key, storageKey, writableUntil, eTag }: BytesOfAttempt,
): Promise<'removed' | 'kept'> {
  const live = await liveRows(records.objects, { bucket, key })
  if (live.some((row) => usesStorageKey(row, storageKey))) return 'kept'
  await storage.remove({ bucket, key: storageKey, writableUntil, eTag })
  return 'removed'
}

async function liveRows(
  objects: StorageObjectStore,
  { bucket, key }: ObjectReference,
): Promise<readonly StorageObject[]> {
  // Pending before active: a row that is confirmed between the two reads is found at least once.
  const pending = await objects.findPending({ bucket, key })
  const active = await objects.findActive({ bucket, key })
  return [pending, active].filter((row) => row !== null)
}

function usesStorageKey(row: StorageObject, storageKey: string): boolean {
  return (row.storageKey ?? row.key) === storageKey
}
