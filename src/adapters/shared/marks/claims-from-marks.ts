import type { ClaimEventsCommand } from '../../../core/store/driver.js'
import type { StoredEvent } from '../../../core/store/events.js'
import type { IndexMarks } from './index-marks.js'
import { FROM_START, type Looked } from './low-water-mark.js'

/** Where the two kinds of events start in the index of those that are due. */
export interface ClaimStarts {
  readonly first: number
  readonly retries: number
}

/** Claimed events, and the first time of each kind among all that were due, `null` if there was none. */
export interface ClaimedFrom {
  readonly result: StoredEvent[]
  readonly first: number | null
  readonly firstRetry: number | null
}

/** Claims events that are due, whatever their object. */
export async function claimFromMarks(
  { firstEvents, retries }: Pick<IndexMarks, 'firstEvents' | 'retries'>,
  { attempted, now }: ClaimEventsCommand,
  claim: (starts: ClaimStarts) => Promise<ClaimedFrom>,
): Promise<StoredEvent[]> {
  const upto = now.getTime()
  if (attempted === true) return (await claimRetries(FROM_START)).result
  const claimFirst = attempted === false ? claimNoRetries : claimRetries
  return (await firstEvents.look(upto, claimFirst)).result

  function claimNoRetries(first: number): Promise<Looked<StoredEvent[]>> {
    return claim({ first, retries: FROM_START })
  }

  /** Returns the first time of those that were never claimed. */
  async function claimRetries(fromFirst: number): Promise<Looked<StoredEvent[]>> {
    let first: number | null = null
    const { result } = await retries.look(upto, async (from) => {
      const claimed = await claim({ first: fromFirst, retries: from })
      first = claimed.first
      return { result: claimed.result, first: claimed.firstRetry }
    })
    return { result, first }
  }
}
