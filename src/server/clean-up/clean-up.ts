import type { Leftover, StorageObject } from '../../core/store/records.js'
import type { S3ServerCore } from '../create-s3-server.js'
import { partsOf } from '../server-parts.js'
import { settleReservation, type SettledReservation } from '../attempts/settle-reservation.js'
import { settleLeftover, type SettledLeftover } from './leftover.js'
import { outcomesOf, type Outcome } from './outcomes.js'
import { pagesOf } from './pages.js'

export interface CleanUpOptions {
  /**
   * What becomes of a lapsed reservation that nobody confirmed: with `confirm` an upload that finished becomes an object
   * after all, and the rest is released; with `discard` every one is released. Default `confirm`.
   */
  readonly unconfirmed?: 'confirm' | 'discard' | null | undefined
  /** Items in a page, 1..1000, default 100. A run goes through all pages. */
  readonly limit?: number | null | undefined
}

/** `failed`: the item is as it was, and the next run tries again. */
export type ReservationOutcome = Outcome<
  Pick<StorageObject, 'bucket' | 'key' | 'attemptId'>,
  SettledReservation
>
export type LeftoverOutcome = Outcome<
  Pick<Leftover, 'bucket' | 'key' | 'attemptId' | 'storageKey'>,
  SettledLeftover
>

/** What became of each item of a run, in the order in which they were taken. */
export interface CleanUpResult {
  readonly reservations: ReservationOutcome[]
  readonly leftovers: LeftoverOutcome[]
}

/**
 * Settles what uploads and removals left behind, in the records and in the bucket: first the reservations that have
 * lapsed, then the leftovers. An application runs it every few minutes; several may run at once, beside any traffic.
 *
 * An item that fails is `failed` in the result and told to `onError`; the others go on. Rejects with `VALIDATION_ERROR`
 * for a bad `limit`, and with `DATABASE_UNAVAILABLE` where the records can't be listed.
 *
 * @throws TypeError for what is no server of `createS3Server`, and for bad `unconfirmed`.
 */
export async function cleanUp(s3: S3ServerCore, options: CleanUpOptions = {}): Promise<CleanUpResult> {
  const parts = partsOf(s3)
  const { records, report, now } = parts
  const unconfirmed = options.unconfirmed ?? 'confirm'
  if (unconfirmed !== 'confirm' && unconfirmed !== 'discard') {
    throw new TypeError(`cleanUp: unconfirmed must be "confirm" or "discard", not ${String(unconfirmed)}.`)
  }
  const { limit } = options
  const start = now()
  const tell = (error: unknown) => report(error, { operation: 'cleanUp' })

  const lapsed = pagesOf<StorageObject>((after) =>
    records.objects.listExpired({ before: start, limit, after }),
  )
  const reservations = await outcomesOf(
    lapsed,
    ({ bucket, key, attemptId }) => ({ bucket, key, attemptId }),
    (row) => settleReservation(parts, row, unconfirmed),
    tell,
  )

  // What this very run leaves, and what others leave beside it, is for a later one: a run has an end.
  const old = pagesOf<Leftover>(async (after) =>
    (await records.objects.listLeftovers({ limit, after })).filter(({ since }) => since <= start),
  )
  const leftovers = await outcomesOf(
    old,
    ({ bucket, key, attemptId, storageKey }) => ({ bucket, key, attemptId, storageKey }),
    (leftover) => settleLeftover(parts, leftover),
    tell,
  )
  return { reservations, leftovers }
}
