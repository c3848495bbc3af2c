import { RecentEntries } from '../../core/recent-entries.js'
import type { Report } from '../../core/reporter.js'
import type { StorageObject } from '../../core/store/records.js'

const MAX_PER_MINUTE = 10

/** How many waiting uploads are remembered, so that each is reported once. */
const REMEMBERED_UPLOADS = 10_000

/** What a report of a check is about. */
export const CHECK = { operation: 'check' }

/** Tells operators about checks that don't happen. */
export interface CheckReport {
  /** Reports an upload that was rejected because its time was over. */
  rejected(row: StorageObject): void
  /** Reports an upload that has waited for long, once. Returns `false` if it has to wait for a later report. */
  waiting(row: StorageObject): boolean
  /** The last attempt that the latest run has looked at; `null`: the next one begins with the first. */
  lookedUpTo: StorageObject | null
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
    report(new Error(message), CHECK)
    return true
  }

  return {
    lookedUpTo: null,
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
