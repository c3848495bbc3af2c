import { StorageError } from '../../core/errors.js'
import { RecentEntries } from '../../core/recent-entries.js'
import type { Report } from '../../core/reporter.js'
import type { StorageObject } from '../../core/store/records.js'
import type { SettledReservation } from '../attempts/settle.js'
import { rejectArrived, type VerdictContext } from '../attempts/verdicts.js'
import { secondsAfter } from '../url-terms.js'

/** Uploads that have waited for their check for so many seconds are reported. */
const LONG_WAIT_SECONDS = 3600

const MAX_PER_MINUTE = 10

/** How many waiting uploads are remembered, so that each is reported once. */
const REMEMBERED_UPLOADS = 10_000

const NO_VERDICT = 'no verdict'
const CONTEXT = { operation: 'check' }

/** Tells operators about checks that don't happen. */
export interface CheckReport {
  /** Reports an upload that was rejected because its time was over. */
  rejected(row: StorageObject): void
  /** Reports an upload that has waited for long, once. Returns `false` if it has to wait for a later report. */
  waiting(row: StorageObject): boolean
}

/** Creates the reports of one process: at most ten a minute. */
export function createCheckReport(report: Report, now: () => Date): CheckReport {
  const told = new RecentEntries<true>(REMEMBERED_UPLOADS)
  let times: readonly number[] = []

  function tell(message: string): boolean {
    const at = now().getTime()
    times = times.filter((time) => Math.abs(at - time) < 60_000)
    if (times.length >= MAX_PER_MINUTE) return false
    times = [...times, at]
    report(new Error(message), CONTEXT)
    return true
  }

  return {
    rejected: (row) => void tell(`${waitingSince(row)} The time for its check is over, so it was rejected.`),
    waiting(row) {
      if (told.get(row.id)) return true
      const isTold = tell(`${waitingSince(row)} Check that your scanner, or who decides, is at work.`)
      if (isTold) told.set(row.id, true)
      return isTold
    },
  }
}

function waitingSince({ id, bucket, arrivedAt }: StorageObject): string {
  return `The upload ${id} in the bucket ${JSON.stringify(bucket)} has waited for its check since ${arrivedAt?.toISOString()}.`
}

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
    await rejectArrived(context, { bucket, key, id, scope, reason: NO_VERDICT }, CONTEXT)
  } catch (error) {
    if (error instanceof StorageError && error.code === 'OBJECT_NOT_FOUND') return 'gone'
    throw error
  }
  context.checkReport.rejected(row)
  return 'released'
}
