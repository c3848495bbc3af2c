import { namesOf } from '../../core/known-names.js'
import { OptionChecks } from '../../core/option-checks.js'
import type { StorageObject } from '../../core/store/records.js'
import type { S3ServerCore } from '../create-s3-server.js'
import { bytesOf } from '../storage.js'
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
import { rowsOfScope } from './pages.js'

export interface EndUploadsOptions extends JobOptions {
  /** The owner whose uploads in progress are ended. */
  readonly scope: string
}

export interface EndUploadsResult {
  /** The number of uploads that were ended. */
  readonly ended: number
  /**
   * The first 1000 failures. A repeated run retries them. If an upload has ended, and only the bucket could not remove its parts, `cleanUp`
   * does that.
   */
  readonly failed: readonly JobFailure[]
}

const JOB = 'endUploads'
export const ENDINGS_AT_ONCE = 8

/** How often one run looks for uploads that have begun meanwhile. An owner who isn't blocked could begin new ones forever. */
const MAX_LOOKS = 10

const OPTIONS = namesOf<EndUploadsOptions>({ ...JOB_OPTIONS, scope: true })
const checks = new OptionChecks(JOB)

/**
 * Ends every upload that an owner has begun, over HTTP or with `s3.files.put`: it can't be confirmed any more, its quota is free at once,
 * and its parts are removed from the bucket. `cleanUp` removes bytes that are there, or still arrive through a signed URL. Objects
 * stay, also those that an ended upload would have replaced, and so do confirmed uploads that wait for their check.
 *
 * Let your guard of `upload` refuse the owner first. A request that it has let through may still begin an upload after the run: run it
 * once more when your longest request is over. Uploads in buckets that the server doesn't know are in `failed`.
 *
 * Safe beside any traffic, and when it is stopped anywhere and repeated. What fails is listed in `failed` and reported to `onError`,
 * and the run continues. Rejects with `DATABASE_UNAVAILABLE` if the records can't be listed.
 *
 * @throws TypeError if `s3` was not created by `createS3Server`, or if an option is invalid.
 *
 * @example
 * import { endUploads } from '@svc/db'
 *
 * await endUploads(s3, { scope: 'user:mallory' })
 */
export async function endUploads(s3: S3ServerCore, options: EndUploadsOptions): Promise<EndUploadsResult> {
  const { failures: _, ...result } = await runEndUploads(dependenciesOfRun(s3, JOB), options)
  return result
}

/** `endUploads` for callers without a server. */
export async function runEndUploads(
  context: JobContext,
  options: EndUploadsOptions,
): Promise<WithFailures<EndUploadsResult>> {
  checks.options(options, OPTIONS)
  const signal = checks.signal(options.signal)
  const onProgress = checks.function('onProgress', options.onProgress)
  const scope = checks.text('scope', options.scope, 'scope')
  const { storage, report } = context
  const run = new ItemRun({ operation: JOB, report, concurrency: ENDINGS_AT_ONCE, signal, onProgress })
  let ended = 0
  await releaseUploads(context, { scope, run, signal, unlessArrived: true }, async (row) => {
    ended++
    const { uploadId } = row
    if (uploadId !== null) await storage.multipart?.abort({ ...bytesOf(row), uploadId })
  })
  return { ended, failed: run.failed, failures: run.failures }
}

interface ReleaseInput {
  readonly scope: string
  readonly run: ItemRun
  readonly signal: AbortSignal | null
  /** Whether uploads stay whose bytes have arrived. */
  readonly unlessArrived: boolean
}

/** Releases the pending rows of a scope, which records their leftovers, until there are none. `onReleased` gets each of them. */
export async function releaseUploads(
  context: JobContext,
  { scope, run, signal, unlessArrived }: ReleaseInput,
  onReleased: (row: StorageObject) => unknown,
): Promise<void> {
  const { objects } = context.records
  /** Rows that stay, because they have failed. */
  const kept = new Set<string>()
  let isEmpty = false

  async function* otherRows() {
    for await (const page of rowsOfScope(objects, scope, 'pending')) {
      const rows = page.filter(({ id, arrivedAt }) => !kept.has(id) && !(unlessArrived && arrivedAt !== null))
      isEmpty &&= rows.length === 0
      yield rows
    }
  }

  for (let look = 1; look <= MAX_LOOKS && !isEmpty && !signal?.aborted; look++) {
    isEmpty = true
    await run.process(otherRows(), async (row) => {
      const { bucket, key, id } = row
      kept.add(id)
      checkBucket(context, row)
      const released = await objects.release({ bucket, key, id, scope, unlessArrived })
      kept.delete(id)
      if (released) await onReleased(released)
    })
  }
}
