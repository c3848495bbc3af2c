import { namesOf } from '../../../core/known-names.js'
import { OptionChecks } from '../../../core/option-checks.js'
import { shown } from '../../../core/store/validation/checks.js'
import type { S3ServerCore } from '../../create-s3-server.js'
import { secondsAfter } from '../../url-terms.js'
import {
  BUCKET_JOB_OPTIONS,
  bucketPart,
  dependenciesOfRun,
  showProgress,
  type BucketJobContext,
  type BucketJobOptions,
} from '../job.js'
import { listInOrder, storedPosition } from '../pages.js'
import {
  confirmedDifferences,
  entryOf,
  Listing,
  pairs,
  type IgnoreBytes,
  type Sides,
  type StorageDifference,
} from './comparison.js'

export interface CheckStorageOptions extends BucketJobOptions {
  /** Only bytes that are older are `unrecorded`. Seconds, 0 to 315,360,000 (ten years). Default 86,400. */
  readonly olderThanSeconds?: number | null | undefined
  /**
   * Returns whether bytes that nothing names are left out, instead of reported as `unrecorded`. Empty objects whose key ends with a
   * slash always are. If it throws, the job rejects with its error.
   */
  readonly ignore?: IgnoreBytes | null | undefined
  /**
   * Called with each difference, one at a time, and awaited. If it throws, the job rejects with its error. Returns `'accept'` for
   * a `changed` object whose size is the same, to record the eTag that the bytes have now.
   */
  readonly onDifference: (difference: StorageDifference) => unknown
}

export interface CheckStorageResult {
  /** The number of objects in the bucket that were compared. */
  readonly items: number
  /** The number of active objects and uploads of the database that were compared. */
  readonly rows: number
  /** The number of differences of each kind, without those that were accepted. */
  readonly missing: number
  readonly changed: number
  readonly unrecorded: number
  /** The number of objects whose new eTag was recorded. */
  readonly accepted: number
  /** The last key that was compared, `after` of a later run. `null` if there was none. */
  readonly after: string | null
}

const JOB = 'checkStorage'

const DAY = 86_400
export const TEN_YEARS = 3650 * DAY

const OPTIONS = namesOf<CheckStorageOptions>({
  ...BUCKET_JOB_OPTIONS,
  ...{ olderThanSeconds: true, ignore: true, onDifference: true },
})
const checks = new OptionChecks(JOB)

/**
 * Compares a bucket with the database, and calls `onDifference` with each object without bytes, each with other bytes than its
 * record says, and all bytes that nothing names. Changes only the eTags that `onDifference` accepts.
 *
 * Compares two listings, with a few pages of 1000 in memory, and looks at each difference again before it calls. So traffic
 * meanwhile is never reported. `after` of the result, and of `onProgress`, is where a later run can go on.
 *
 * Rejects with `STORAGE_UNAVAILABLE` if the bucket can't be listed, with `DATABASE_UNAVAILABLE` if the records can't, and with
 * the error of `onDifference`.
 *
 * @throws TypeError if `s3` was not created by `createS3Server`, if an option is invalid, or if the storage has no `list` or the
 * driver of the store no `listStored`.
 *
 * @example
 * import { checkStorage } from '@svc/db'
 *
 * await checkStorage(s3, {
 *   onDifference: (difference) => console.log(difference.kind, difference.storageKey),
 * })
 */
export async function checkStorage(
  s3: S3ServerCore,
  options: CheckStorageOptions,
): Promise<CheckStorageResult> {
  return runCheck(dependenciesOfRun(s3, JOB), options)
}

/** `checkStorage` for callers without a server. */
export async function runCheck(
  context: BucketJobContext,
  options: CheckStorageOptions,
): Promise<CheckStorageResult> {
  checks.options(options, OPTIONS)
  const onDifference = checks.requiredFunction('onDifference', options.onDifference)
  const ignore = checks.function('ignore', options.ignore) ?? (() => false)
  const part = bucketPart(checks, options, context.bucket)
  const olderThanSeconds = secondsOf(options.olderThanSeconds)
  const signal = checks.signal(options.signal)
  const onProgress = checks.function('onProgress', options.onProgress)
  const { now, report } = context
  const sides = sidesOf(context, part, signal)
  const items = new Listing(sides.listBucket, part.after)
  const stored = new Listing(sides.listStored, part.after)
  const oldest = secondsAfter(now(), -olderThanSeconds)
  const counts = { items: 0, rows: 0, missing: 0, changed: 0, unrecorded: 0, accepted: 0 }
  let { after } = part
  let done = 0

  async function nextStretch() {
    await items.fill()
    await stored.fill()
    const end = earlier(items.end, stored.end)
    const itemEntries = items.takeUpTo(end)
    const storedEntries = stored.takeUpTo(end)
    const compared = pairs(itemEntries, storedEntries)
    const differences = await confirmedDifferences(sides, { start: after, compared }, oldest, ignore)
    return { end, itemEntries, storedEntries, compared, differences }
  }

  while (!signal?.aborted) {
    const stretch = await nextStretch().catch((error: unknown) => {
      if (signal?.aborted) return null
      throw error
    })
    if (!stretch) break
    const { end, itemEntries, storedEntries, compared, differences } = stretch
    for (const difference of differences) {
      const isAccepted = (await onDifference(difference)) === 'accept'
      if (isAccepted) await acceptETag(context, difference)
      counts[isAccepted ? 'accepted' : difference.kind]++
    }
    counts.items += itemEntries.length
    counts.rows += storedEntries.filter(({ value }) => value.object !== undefined).length
    after = compared.at(-1)?.name ?? after
    done += compared.length
    if (compared.length > 0) {
      showProgress(onProgress, { done, ...(after !== null && { after }) }, report, JOB)
    }
    if (end === null) break
  }
  return { ...counts, after }
}

/** Records the eTag of bytes that were copied, unless another version has replaced the object in the meantime. */
async function acceptETag(
  { records, events }: BucketJobContext,
  { kind, object, item }: StorageDifference,
): Promise<void> {
  if (kind !== 'changed' || object.size !== item.size) {
    throw checks.error(
      `onDifference may return 'accept' only for a changed object of the same size (got ${shown(kind)}).`,
    )
  }
  const { bucket, key, scope, attemptId } = object
  await records.objects.update({ bucket, key, scope, attemptId, eTag: item.eTag })
  events?.changed({ scope, bucket, key })
}

function sidesOf(
  { storage, records }: Pick<BucketJobContext, 'storage' | 'records'>,
  { bucket, prefix }: { readonly bucket: string; readonly prefix: string | null },
  signal: AbortSignal | null,
): Sides {
  const list = listInOrder(checks, storage)
  const listStored = (withMetadata: boolean) => async (after: string | null, limit: number) => {
    const query = { bucket, prefix, after: storedPosition(after), limit, withMetadata }
    const page = await records.objects.listStored(query)
    const entries = page.map((item) => entryOf(item.storageKey, item))
    // A shorter page is the last one.
    return { entries, next: page.length < limit ? null : page.at(-1)!.storageKey }
  }
  return {
    bucket,
    async listBucket(after, limit) {
      const { items, next } = await list({ bucket, prefix, after, limit, ...(signal && { signal }) })
      return { entries: items.map((item) => entryOf(item.key, item)), next }
    },
    listStored: listStored(false),
    listStoredWithMetadata: listStored(true),
  }
}

/** Returns the earlier of two places. `null` is the end. */
function earlier<P extends { readonly order: string }>(one: P | null, other: P | null): P | null {
  if (!one || !other) return one ?? other
  return one.order < other.order ? one : other
}

function secondsOf(value: number | null | undefined): number {
  if (value === undefined || value === null) return DAY
  if (typeof value === 'number' && value >= 0 && value <= TEN_YEARS) return value
  throw checks.error(`olderThanSeconds must be a number from 0 to ${TEN_YEARS} (got ${shown(value)}).`)
}
