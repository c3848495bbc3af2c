import type { ListDueLeftoversQuery } from '../../../core/store/driver.js'
import { timeOfAttempt } from '../../../core/store/attempt-id.js'
import type { Leftover } from '../../../core/store/records.js'
import type { ScopeMarks } from './index-marks.js'
import { FROM_START } from './low-water-mark.js'

/** Where the two parts of the index start that a page of due leftovers comes from. */
export interface DueStarts {
  /** Of those that were never put off, which come before all others: by the time in their attempt ids. */
  readonly undeferred: number
  readonly deferred: number
}

/** Lists leftovers that are due. `list` ignores a start where the query names a position. */
export async function listDueFromMarks(
  { undeferred, deferred }: ScopeMarks,
  { dueBefore, limit, after }: ListDueLeftoversQuery,
  list: (starts: DueStarts) => Promise<Leftover[]>,
): Promise<Leftover[]> {
  if (after?.dueAt) return list({ undeferred: FROM_START, deferred: FROM_START })
  if (after) return listBoth(FROM_START)
  const { result } = await undeferred.look(Date.now(), async (from) => {
    const found = await listBoth(from)
    const first = found[0]?.dueAt === null ? timeOfAttempt(found[0].attemptId) : null
    return { result: found, first }
  })
  return result

  async function listBoth(undeferredFrom: number): Promise<Leftover[]> {
    const { result } = await deferred.look(dueBefore.getTime(), async (from) => {
      const found = await list({ undeferred: undeferredFrom, deferred: from })
      const first = found.find(({ dueAt }) => dueAt !== null)?.dueAt?.getTime()
      // A page that is full without any says nothing about them.
      return { result: found, first: first ?? (found.length < limit ? null : from) }
    })
    return result
  }
}
