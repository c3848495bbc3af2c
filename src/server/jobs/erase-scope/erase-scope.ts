import { checkText } from '../../../core/store/validation/checks.js'
import type { S3ServerCore } from '../../create-s3-server.js'
import { dependenciesOf } from '../../server-dependencies.js'
import { ItemRun } from '../item-run.js'
import { OptionChecks, type JobFailure, type JobOptions } from '../job.js'
import { Erasure } from './erasure.js'

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
const CONCURRENCY = 8

const checks = new OptionChecks(JOB)

/**
 * Deletes everything of an owner, in every bucket: ends its uploads, removes its objects and history, and deletes all their bytes
 * at once, whatever download URLs are still valid. Can't be undone.
 *
 * Block the owner's sign-in first. If nothing is written for the scope meanwhile and `failed` is empty, the scope has nothing
 * left but zero sums, events that are not delivered yet, and leftovers of upload URLs that may still write. `cleanUp` deletes
 * those. Bytes of objects without a `storageKey` stay, because they are the application's.
 *
 * Calls `onDeleted` for each object. Safe beside any traffic, and when it is stopped anywhere and repeated. `onProgress` counts
 * uploads, objects and leftovers. What fails is listed in `failed` and reported to `onError`, and the run continues.
 * Rejects with `VALIDATION_ERROR` if `scope` is invalid, and with `DATABASE_UNAVAILABLE` if the records can't be listed.
 *
 * @throws TypeError if `s3` was not created by `createS3Server`, or if another option is invalid.
 */
export async function eraseScope(s3: S3ServerCore, options: EraseScopeOptions): Promise<EraseScopeResult> {
  const dependencies = dependenciesOf(s3, JOB)
  const signal = checks.signal(options.signal)
  const onProgress = checks.function('onProgress', options.onProgress)
  const scope = checkText('scope', options.scope)

  const { report } = dependencies
  const run = new ItemRun({ operation: JOB, report, concurrency: CONCURRENCY, signal, onProgress })
  const erasure = new Erasure({ ...dependencies, operation: JOB, scope, signal, run })
  await erasure.endReservations()
  await erasure.removeObjects()
  await erasure.purgeHistory()
  // Last: the steps before it record a leftover for everything that may be in the bucket.
  await erasure.settleLeftovers()
  return { ...erasure.counts, failed: run.failed }
}
