import { StorageError } from '../../core/errors.js'
import type { StorageObject } from '../../core/store/records.js'
import type { SettledReservation } from '../attempts/settle.js'
import { rejectArrived, type VerdictContext } from '../attempts/verdicts.js'
import { secondsAfter } from '../url-terms.js'
import { CHECK, type CheckReport } from './check-report.js'

/** Uploads that have waited for their check for so many seconds are reported. */
const LONG_WAIT_SECONDS = 3600

const NO_VERDICT = 'no verdict'

/** Yields the arrived attempts whose time is over. `pages` has those first. Reports others that have waited for long. */
export async function* overdue(
  pages: AsyncIterable<readonly StorageObject[]>,
  now: Date,
  report: CheckReport,
): AsyncGenerator<readonly StorageObject[], void> {
  const since = secondsAfter(now, -LONG_WAIT_SECONDS)
  for await (const page of pages) {
    const isOver = ({ expiresAt }: StorageObject) => expiresAt !== null && expiresAt <= now
    yield page.filter(isOver)
    for (const row of page) {
      const isLate = !isOver(row) && row.arrivedAt !== null && row.arrivedAt <= since
      if (isLate && !report.waiting(row)) return
    }
  }
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
