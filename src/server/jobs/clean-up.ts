import { toStorageError, type StorageError } from '../../core/errors.js'
import type { Leftover, StorageObject } from '../../core/store/records.js'
import { shown } from '../../core/store/validation/checks.js'
import { settleReservation, settlementBatches, type SettledReservation } from '../attempts/attempt.js'
import type { S3ServerCore } from '../create-s3-server.js'
import { dependenciesOf } from '../dependencies.js'
import { lookForCleanUp, settleLeftover, type SettledLeftover } from './leftover.js'
import { pagesOf } from './pages.js'

export interface CleanUpOptions {
  /**
   * What to do with expired reservations. `confirm` records finished uploads as objects and releases the rest. `discard`
   * releases all of them. Default `confirm`.
   */
  readonly unconfirmed?: 'confirm' | 'discard' | null | undefined
  /** Page size, 1 to 1000. Default 100. A run processes every page. */
  readonly limit?: number | null | undefined
}

/** The result for one item: its outcome, or the error that left it unchanged. */
type Outcome<Name, Result extends string> =
  | (Name & { readonly outcome: Result })
  | (Name & { readonly outcome: 'failed'; readonly error: StorageError })

/** The result for one reservation. `failed`: the reservation is unchanged, and the next run retries it. */
export type ReservationOutcome = Outcome<
  Pick<StorageObject, 'bucket' | 'key' | 'attemptId'>,
  SettledReservation
>
/** The result for one leftover. `failed`: the leftover is unchanged, and a run in an hour or later retries it. */
export type LeftoverOutcome = Outcome<
  Pick<Leftover, 'bucket' | 'key' | 'attemptId' | 'storageKey'>,
  SettledLeftover
>

/** The result for each item of a run, in processing order. Leftovers are listed only if the run looked at them. */
export interface CleanUpResult {
  readonly reservations: ReservationOutcome[]
  readonly leftovers: LeftoverOutcome[]
}

/**
 * Cleans up after unfinished uploads and deleted objects, in the database and in the bucket: settles the expired
 * reservations, then the leftovers. Run it every few minutes. Concurrent runs are safe, as is any traffic meanwhile.
 *
 * A run looks only at leftovers that it can do something about.
 *
 * If an item fails, its outcome is `failed`, `onError` receives the error, and the run continues. Rejects with
 * `VALIDATION_ERROR` if `limit` is invalid, and with `DATABASE_UNAVAILABLE` if the records can't be listed.
 *
 * @throws TypeError if `s3` was not created by `createS3Server`, or if `unconfirmed` is invalid.
 */
export async function cleanUp(s3: S3ServerCore, options: CleanUpOptions = {}): Promise<CleanUpResult> {
  const dependencies = dependenciesOf(s3, 'cleanUp')
  const { records, now } = dependencies
  const unconfirmed = options.unconfirmed ?? 'confirm'
  if (unconfirmed !== 'confirm' && unconfirmed !== 'discard') {
    throw new TypeError(`cleanUp: unconfirmed must be "confirm" or "discard" (got ${shown(unconfirmed)}).`)
  }
  const { limit } = options
  const start = now()
  const report = (error: unknown) => dependencies.report(error, { operation: 'cleanUp' })

  const expired = pagesOf<StorageObject>((after) =>
    records.objects.listExpired({ before: start, limit, after }),
  )
  const reservations = await settleAll(
    expired,
    ({ bucket, key, attemptId }) => ({ bucket, key, attemptId }),
    (row) => settleReservation(dependencies, row, unconfirmed),
    report,
  )

  const due = pagesOf<Leftover>((after) => records.objects.listLeftovers({ dueBefore: start, limit, after }))
  const leftovers = await settleAll(
    recordedBefore(start, due),
    ({ bucket, key, attemptId, storageKey }) => ({ bucket, key, attemptId, storageKey }),
    (leftover) => settleLeftover(dependencies, leftover, lookForCleanUp(leftover, dependencies)),
    report,
  )
  return { reservations, leftovers }
}

/** Leaves the leftovers that appear during the run to the next one. */
async function* recordedBefore(
  start: Date,
  pages: AsyncIterable<readonly Leftover[]>,
): AsyncGenerator<readonly Leftover[], void> {
  for await (const leftovers of pages) yield leftovers.filter(({ since }) => since <= start)
}

/** Settles every item of every page, a few concurrently. Reports an item that fails, and continues with the others. */
async function settleAll<Item, Name, Result extends string>(
  pages: AsyncIterable<readonly Item[]>,
  name: (item: Item) => Name,
  settle: (item: Item) => Promise<Result>,
  report: (error: unknown) => void,
): Promise<Outcome<Name, Result>[]> {
  async function outcomeOf(item: Item): Promise<Outcome<Name, Result>> {
    try {
      return { ...name(item), outcome: await settle(item) }
    } catch (error) {
      report(error)
      return { ...name(item), outcome: 'failed', error: toStorageError(error) }
    }
  }

  const outcomes: Outcome<Name, Result>[] = []
  for await (const page of pages) {
    for (const batch of settlementBatches(page)) outcomes.push(...(await Promise.all(batch.map(outcomeOf))))
  }
  return outcomes
}
