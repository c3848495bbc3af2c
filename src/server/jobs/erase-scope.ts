import { namesOf } from '../../core/known-names.js'
import { OptionChecks } from '../../core/option-checks.js'
import type { Leftover, StorageObject } from '../../core/store/records.js'
import { LATEST_DATE } from '../../core/store/validation/checks.js'
import type { S3ServerCore } from '../create-s3-server.js'
import { uploadURLEnd, LONGEST_URL_SECONDS } from '../url-terms.js'
import { releaseUploads } from './end-uploads.js'
import { ItemRun } from './item-run.js'
import {
  checkBucket,
  dependenciesOfRun,
  JOB_OPTIONS,
  type JobContext,
  type JobFailure,
  type JobOptions,
  type WithFailures,
} from './job.js'
import { lookForErasure, removeUnused, settleLeftover } from './leftover.js'
import { PAGE_SIZE, pagesOf, rowsOfScope } from './pages.js'

export interface EraseScopeOptions extends JobOptions {
  /** The owner whose objects, uploads and history are erased. */
  readonly scope: string
}

/** What one run did. A repeated run counts only what the runs before it left over. */
export interface EraseScopeResult {
  /** The number of active objects that were removed. */
  readonly objects: number
  /** The sum of the sizes of those objects whose bytes were deleted. */
  readonly bytes: number
  /** The number of uploads in progress that were ended. */
  readonly reservations: number
  /** The number of rows of history that were deleted. */
  readonly history: number
  /** The first 1000 failures. A repeated run retries them. */
  readonly failed: readonly JobFailure[]
}

const JOB = 'eraseScope'
export const ERASURES_AT_ONCE = 8

const OPTIONS = namesOf<EraseScopeOptions>({ ...JOB_OPTIONS, scope: true })
const checks = new OptionChecks(JOB)

/**
 * Deletes everything of an owner: ends its uploads, also those that wait for their check, removes its objects and history, and deletes
 * all their bytes at once, whatever download URLs are still valid. Can't be undone. Uploads in buckets that the server doesn't know are
 * in `failed`.
 *
 * Block the owner's sign-in first. If nothing is written for the scope meanwhile and `failed` is empty, the scope has nothing
 * left but zero sums, events that are not delivered yet, and leftovers of upload URLs that may still write. `cleanUp` deletes
 * those. Bytes of objects without a `storageKey` stay, because they are the application's.
 *
 * Calls `onDeleted` for each object. Safe beside any traffic, and when it is stopped anywhere and repeated. `onProgress` counts
 * uploads, objects and leftovers. What fails is listed in `failed` and reported to `onError`, and the run continues.
 * Rejects with `DATABASE_UNAVAILABLE` if the records can't be listed.
 *
 * @throws TypeError if `s3` was not created by `createS3Server`, or if an option is invalid.
 *
 * @example
 * import { eraseScope } from '@svc/db'
 *
 * const { failed } = await eraseScope(s3, { scope: 'user:ann' })
 */
export async function eraseScope(s3: S3ServerCore, options: EraseScopeOptions): Promise<EraseScopeResult> {
  const { failures: _, ...result } = await runErasure(dependenciesOfRun(s3, JOB), options)
  return result
}

/** `eraseScope` for callers without a server. Each step can be stopped anywhere and repeated. */
export async function runErasure(
  context: JobContext,
  options: EraseScopeOptions,
): Promise<WithFailures<EraseScopeResult>> {
  checks.options(options, OPTIONS)
  const signal = checks.signal(options.signal)
  const onProgress = checks.function('onProgress', options.onProgress)
  const scope = checks.text('scope', options.scope, 'scope')
  const { records, report, now } = context
  const { objects } = records
  const run = new ItemRun({ operation: JOB, report, concurrency: ERASURES_AT_ONCE, signal, onProgress })
  const counts = { objects: 0, bytes: 0, reservations: 0, history: 0 }
  /** The sizes of removed objects whose bytes could not be deleted, by attempt. Their leftovers try again. */
  const failedBytes = new Map<string, number>()

  /** Removes whatever the scope has at the key: first the rows, which records their leftovers, then the bytes. */
  async function removeObject(row: StorageObject): Promise<void> {
    checkBucket(context, row)
    const { bucket, key } = row
    const removed = await records.remove({ bucket, key, scope, mode: 'hard' })
    if (!removed) return
    if (removed.status === 'pending') {
      counts.reservations++
      return
    }
    counts.objects++
    const { storageKey, attemptId, size, eTag } = removed
    if (storageKey === null) return
    const writableUntil = uploadURLEnd(removed, LONGEST_URL_SECONDS, now())
    try {
      const outcome = await removeUnused(context, { bucket, key, storageKey, writableUntil, eTag })
      if (outcome === 'removed') counts.bytes += size ?? 0
    } catch {
      failedBytes.set(attemptId, size ?? 0)
    }
  }

  async function settle(leftover: Leftover): Promise<void> {
    checkBucket(context, leftover)
    const look = lookForErasure(JOB, leftover, now())
    let outcome = await settleLeftover(context, leftover, look)
    // Nothing can be written any more, so a second look verifies that nothing is left, and forgets the leftover.
    if (outcome === 'removed' && look.isLast) outcome = await settleLeftover(context, leftover, look)
    if (outcome !== 'kept') counts.bytes += failedBytes.get(leftover.attemptId) ?? 0
  }

  // Uploads that are confirmed first are objects by the time objects are listed.
  await releaseUploads(context, { scope, run, signal, unlessArrived: false }, () => counts.reservations++)
  await run.process(rowsOfScope(objects, scope, 'active'), removeObject)
  // Not until now: the clock that recorded a deletion may be ahead of this one.
  const before = new Date(LATEST_DATE)
  while (!signal?.aborted) {
    const purged = await objects.purgeDeleted({ scope, before, limit: PAGE_SIZE })
    if (purged === 0) break
    counts.history += purged
  }
  // Last: the steps before it record a leftover for everything that may be in the bucket.
  const leftovers = pagesOf<Leftover>((after) => objects.listLeftovers({ scope, after, limit: PAGE_SIZE }))
  await run.process(leftovers, settle)
  return { ...counts, failed: run.failed, failures: run.failures }
}
