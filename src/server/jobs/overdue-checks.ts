import { StorageError } from '../../core/errors.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import type { StorageObject } from '../../core/store/records.js'
import type { SettledReservation } from '../attempts/settle.js'
import { rejectArrived, type VerdictContext } from '../attempts/verdicts.js'
import { secondsAfter } from '../url-terms.js'
import { CHECK, type CheckReport } from './check-report.js'
import { PAGE_SIZE } from './pages.js'

/** Uploads that have waited for their check for so many seconds are reported. */
const LONG_WAIT_SECONDS = 3600

const NO_VERDICT = 'no verdict'

/**
 * Reports arrived attempts that have waited for long. Each run looks at one page and the next run goes on behind it, so the cost stays
 * the same however many wait.
 */
export async function reportWaiting(
  objects: Pick<StorageObjectStore, 'listArrived'>,
  isKnown: (row: StorageObject) => boolean,
  now: Date,
  report: CheckReport,
): Promise<void> {
  const since = secondsAfter(now, -LONG_WAIT_SECONDS)
  const rows = await objects.listArrived({ limit: PAGE_SIZE, after: report.lookedUpTo })
  for (const row of rows) {
    const isLate = row.arrivedAt !== null && row.arrivedAt <= since && isKnown(row)
    if (isLate && !report.waiting(row)) return
    report.lookedUpTo = row
  }
  if (rows.length < PAGE_SIZE) report.lookedUpTo = null
}

/** Rejects an attempt that had no verdict in time. Changes nothing if the database fails. */
export async function rejectOverdue(
  context: VerdictContext & { readonly checkReport: CheckReport },
  row: StorageObject,
): Promise<SettledReservation> {
  const { bucket, key, id, scope } = row
  try {
    await rejectArrived(context, { bucket, key, id, scope, reason: NO_VERDICT }, CHECK)
  } catch (error) {
    if (error instanceof StorageError && error.code === 'OBJECT_NOT_FOUND') return 'gone'
    throw error
  }
  context.checkReport.rejected(row)
  return 'released'
}
