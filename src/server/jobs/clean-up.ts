import { toStorageError, type StorageError } from '../../core/errors.js'
import { namesOf } from '../../core/known-names.js'
import { OptionChecks } from '../../core/option-checks.js'
import type { RecordKeeper } from '../../core/plugin.js'
import type { Leftover, StorageObject } from '../../core/store/records.js'
import { settleReservation, type SettledReservation } from '../attempts/settle.js'
import type { S3ServerCore } from '../create-s3-server.js'
import type { DownloadLifetimes } from '../dependencies.js'
import { endedBy, ENDED_AT_ONCE, endTemporary, type EndingContext } from '../temporary.js'
import type { CheckReport } from './check-report.js'
import { fairShares } from './fair-shares.js'
import { ItemRun } from './item-run.js'
import {
  concurrencyOption,
  dependenciesOfRun,
  JOB_OPTIONS,
  unknownBucket,
  type JobContext,
  type JobOptions,
} from './job.js'
import { rejectOverdue, reportWaiting } from './overdue-checks.js'
import { lookForCleanUp, settleDueLeftover, type SettledLeftover } from './leftover.js'
import { PAGE_SIZE, pagesOf } from './pages.js'

export interface CleanUpOptions extends JobOptions {
  /**
   * What to do with expired reservations. `confirm` records finished uploads as objects and releases the rest. `discard`
   * releases all of them. Default `confirm`.
   */
  readonly unconfirmed?: 'confirm' | 'discard' | null | undefined
  /** Page size, 1 to 1000. Default 100. A run processes every page. */
  readonly limit?: number | null | undefined
  /** How many items are in work at once, 1 to 1000. Default 8. */
  readonly concurrency?: number | null | undefined
  /** Called for each item, in the order of the pages. What it throws goes to `onError`. */
  readonly onOutcome?: ((item: CleanUpOutcome) => unknown) | null | undefined
}

/** What became of an item. `failed`: it is unchanged, and a later run retries it, a leftover after an hour. */
export type CleanUpOutcome =
  | (Named<'reservation'> & Outcome<SettledReservation>)
  | (Named<'leftover'> & Pick<Leftover, 'storageKey'> & Outcome<SettledLeftover>)
  | (Named<'temporary'> & Outcome<SettledTemporary>)

/** The result for an object past its end. `kept`: it is in use, or has changed, or another transaction holds its key. */
export type SettledTemporary = 'removed' | 'kept'

interface Named<Kind extends string> extends Pick<StorageObject, 'bucket' | 'key' | 'attemptId'> {
  readonly kind: Kind
}

type Outcome<Settled extends string> =
  { readonly outcome: Settled } | { readonly outcome: 'failed'; readonly error: StorageError }

/** How many items of a run had each outcome. Leftovers count only if the run looked at them. */
export interface CleanUpResult {
  readonly reservations: Readonly<Record<SettledReservation | 'failed', number>>
  readonly leftovers: Readonly<Record<SettledLeftover | 'failed', number>>
  /** Temporary objects that came to their end a minute ago, or earlier. */
  readonly temporary: Readonly<Record<SettledTemporary | 'failed', number>>
}

const JOB = 'cleanUp'
export const CLEANED_AT_ONCE = 8
const OPTIONS = namesOf<CleanUpOptions>({
  ...JOB_OPTIONS,
  ...{ unconfirmed: true, limit: true, concurrency: true, onOutcome: true },
})
const checks = new OptionChecks(JOB)

/**
 * Cleans up after unfinished uploads and deleted objects, in the database and in the bucket: settles the expired
 * reservations, rejects uploads whose time for the check is over, removes temporary objects past their end that `isUsed` of `db()`
 * doesn't name, then settles the leftovers. Run it every few minutes. Concurrent runs are safe, as is any traffic meanwhile.
 *
 * A run looks only at leftovers that it can do something about, and leaves buckets alone that the server doesn't know. `onError`
 * receives one error for each of these.
 *
 * `onError` also receives (operation `check`) uploads that were rejected without a verdict and, once, those that have waited for their
 * check for an hour: at most 10 a minute.
 *
 * If an item fails, its outcome is `failed`, `onError` receives the error once for all that fail alike, and the run continues. Rejects with
 * `DATABASE_UNAVAILABLE` if the records can't be listed.
 *
 * @throws TypeError if `s3` was not created by `createS3Server`, or if an option is invalid.
 *
 * @example
 * import { cleanUp } from '@svc/db'
 *
 * const { reservations, leftovers, temporary } = await cleanUp(s3)
 */
export async function cleanUp(s3: S3ServerCore, options?: CleanUpOptions | null): Promise<CleanUpResult> {
  return runCleanUp(dependenciesOfRun(s3, JOB), options)
}

/** What the job works with. */
export interface CleanUpContext extends JobContext, EndingContext {
  /** Without `endTemporary`, temporary objects stay. */
  readonly records: Pick<RecordKeeper, 'objects' | 'remove' | 'confirm' | 'reject' | 'endTemporary'>
  readonly download: Pick<DownloadLifetimes, 'maxSeconds'>
  readonly uploadSeconds: number
  readonly checkReport: CheckReport
}

/** Like {@link cleanUp}, without a server. */
export async function runCleanUp(
  context: CleanUpContext,
  options: CleanUpOptions | null | undefined,
): Promise<CleanUpResult> {
  const given = checks.optionalOptions(options, OPTIONS)
  const { records, now, report } = context
  const unconfirmed = checks.oneOf('unconfirmed', given.unconfirmed, ['confirm', 'discard']) ?? 'confirm'
  const limit = checks.integer('limit', given.limit ?? null, 1, PAGE_SIZE)
  const concurrency = concurrencyOption(checks, 'concurrency', given.concurrency, CLEANED_AT_ONCE)
  const signal = checks.signal(given.signal)
  const onProgress = checks.function('onProgress', given.onProgress)
  const onOutcome = checks.function('onOutcome', given.onOutcome)
  const start = now()
  const reported = new Set<string>()
  const run = new ItemRun({
    ...{ operation: JOB, report, concurrency, signal, onProgress },
    // An item that fails is left to a later run, whatever it failed with.
    isEndedBy: () => false,
  })

  const isServed = ({ bucket }: StorageObject) => unknownBucket(context, bucket) === null

  function isKnown({ bucket }: { readonly bucket: string }): boolean {
    const error = unknownBucket(context, bucket)
    if (error && !reported.has(bucket)) report(error, { operation: JOB })
    if (error) reported.add(bucket)
    return error === null
  }

  async function* knownIn<Item extends StorageObject | Leftover>(pages: AsyncIterable<readonly Item[]>) {
    for await (const page of pages) yield page.filter(isKnown)
  }

  function settleAll<Item extends StorageObject | Leftover, Settled extends string>(
    pages: AsyncIterable<readonly Item[]>,
    counts: Record<Settled | 'failed', number>,
    settle: (item: Item) => Promise<Settled | null>,
    named: (item: Item, outcome: Outcome<Settled>) => CleanUpOutcome,
  ): Promise<void> {
    return run.process(knownIn(pages), settle, (item, settled) => {
      const outcome = outcomeOf(settled)
      if (outcome === null) return
      counts[outcome.outcome]++
      tell(named(item, outcome))
    })
  }

  function tell(item: CleanUpOutcome): void {
    try {
      onOutcome?.(item)
    } catch (error) {
      report(error, { operation: JOB })
    }
  }

  const reservations = { confirmed: 0, released: 0, gone: 0, failed: 0 }
  await settleAll<StorageObject, SettledReservation>(
    pagesOf((after) => records.objects.listExpired({ before: start, limit, after })),
    reservations,
    (row) => settleReservation(context, row, unconfirmed),
    namedReservation,
  )

  await settleAll<StorageObject, SettledReservation>(
    pagesOf((after) => records.objects.listArrived({ dueBefore: start, limit, after })),
    reservations,
    (row) => rejectOverdue(context, row),
    namedReservation,
  )
  if (!signal?.aborted) await reportWaiting(records.objects, isServed, start, context.checkReport)

  const temporary = { removed: 0, kept: 0, failed: 0 }
  /** Ends the objects of a page in one call, and settles each. */
  async function endPage(page: readonly StorageObject[]): Promise<void> {
    const [ended] = await Promise.allSettled([endTemporary(context, page, { operation: JOB }, concurrency)])
    const removed = new Set(ended.status === 'fulfilled' ? ended.value.map(({ attemptId }) => attemptId) : [])
    for (const row of page) {
      const { bucket, key, attemptId } = row
      const value: SettledTemporary = removed.has(attemptId) ? 'removed' : 'kept'
      const outcome = outcomeOf(ended.status === 'fulfilled' ? { ...ended, value } : ended)!
      if (ended.status === 'rejected') run.fail(row, ended.reason)
      temporary[outcome.outcome]++
      tell({ kind: 'temporary', bucket, key, attemptId, ...outcome })
      run.advance()
    }
  }

  if (records.endTemporary) {
    const pages = pagesOf<StorageObject>((after) =>
      records.objects.listTemporary({
        ...{ before: endedBy(start), after },
        limit: Math.min(limit ?? ENDED_AT_ONCE, ENDED_AT_ONCE),
      }),
    )
    // Not `process`: one call ends a page, and an abort must not leave out what it has removed.
    for await (const page of knownIn(pages)) {
      if (signal?.aborted) break
      await endPage(page)
    }
  }

  const leftovers = { removed: 0, forgotten: 0, waiting: 0, kept: 0, failed: 0 }
  const due = fairShares((first) =>
    pagesOf<Leftover>((after) =>
      records.objects.listLeftovers({ dueBefore: start, limit, after: after ?? first }),
    ),
  )
  await settleAll<Leftover, SettledLeftover>(
    recordedBefore(start, due),
    leftovers,
    (leftover) => settleDueLeftover(context, leftover, lookForCleanUp(leftover, context), start),
    ({ bucket, key, attemptId, storageKey }, outcome) => ({
      kind: 'leftover',
      bucket,
      key,
      attemptId,
      storageKey,
      ...outcome,
    }),
  )
  return { reservations, leftovers, temporary }
}

function namedReservation(
  { bucket, key, attemptId }: StorageObject,
  outcome: Outcome<SettledReservation>,
): CleanUpOutcome {
  return { kind: 'reservation', bucket, key, attemptId, ...outcome }
}

/** Returns `null` for an item that is left to another run. */
function outcomeOf<Settled extends string>(
  settled: PromiseSettledResult<Settled | null>,
): Outcome<Settled> | null {
  if (settled.status === 'rejected') return { outcome: 'failed', error: toStorageError(settled.reason) }
  return settled.value === null ? null : { outcome: settled.value }
}

/** Leaves the leftovers that appear during the run to the next one. */
async function* recordedBefore(
  start: Date,
  pages: AsyncIterable<readonly Leftover[]>,
): AsyncGenerator<readonly Leftover[], void> {
  for await (const leftovers of pages) yield leftovers.filter(({ since }) => since <= start)
}
