import { beforeAttemptsAt } from '../../core/store/attempt-id.js'
import type { StoreDriver } from '../../core/store/driver.js'
import type { Leftover } from '../../core/store/records.js'
import type { PostgresValue } from './connection/database.js'
import type { Calls } from './connection/retries.js'
import { listDueFromMarks } from '../shared/marks/due-leftovers.js'
import type { IndexMarks } from '../shared/marks/index-marks.js'
import { FROM_START } from '../shared/marks/low-water-mark.js'
import { FIRST_ID, LAST_ID } from './sql/lists.js'
import { readLeftover, startText } from './sql/rows.js'
import type { Statements } from './sql/statement.js'

/** Creates the methods of leftovers. */
export function createLeftoverMethods(
  { idempotent, once }: Calls,
  { lists, writes }: Pick<Statements, 'lists' | 'writes'>,
  marks: IndexMarks,
) {
  async function read(
    scope: string | null,
    [all, ofScope]: readonly [all: keyof typeof lists, ofScope: keyof typeof lists],
    values: readonly PostgresValue[],
  ): Promise<Leftover[]> {
    const rows =
      scope === null
        ? await idempotent(lists[all], values)
        : await idempotent(lists[ofScope], [...values, scope])
    return rows.map(readLeftover)
  }

  return {
    async listLeftovers({ scope, limit, after }) {
      const list = (from: string, afterId: string) =>
        read(scope, ['listLeftovers', 'listLeftoversOfScope'], [from, afterId, limit])
      if (after) return list(after.since.toISOString(), after.attemptId)
      return marks.within(scope).leftovers.list(
        Date.now(),
        ({ since }) => since,
        (from) => list(startText(from), FIRST_ID),
      )
    },

    listDueLeftovers(query) {
      const { scope, dueBefore, limit, after } = query
      return listDueFromMarks(marks.within(scope), query, async ({ undeferred, deferred }) => {
        const undeferredAfter = after?.dueAt ? LAST_ID : (after?.attemptId ?? beforeAttemptsAt(undeferred))
        // Those that were never put off come before all others.
        const deferredAfter = after?.dueAt
          ? [after.dueAt.toISOString(), after.attemptId]
          : [startText(deferred), deferred === FROM_START ? LAST_ID : FIRST_ID]
        const values = [scope, dueBefore.toISOString(), undeferredAfter, ...deferredAfter, limit]
        return (await idempotent(lists.listDueLeftovers, values)).map(readLeftover)
      })
    },

    // With `dueBefore`, a repeat after a lost response returns `false`. The leftover is due again by `until`.
    async deferLeftover({ attemptId, until, dueBefore, readableUntil }) {
      const dates = [until, dueBefore, readableUntil].map((date) => date?.toISOString() ?? null)
      const values = [attemptId, ...dates]
      const [row] = await idempotent(writes.deferLeftover, values)
      if (!row) return false
      const scopes = row[0] == null ? [] : [row[0]]
      marks.change(scopes, ({ deferred }) => deferred.lower(until.getTime()))
      return true
    },

    forgetLeftover: async (attemptId) => (await once(writes.forgetLeftover, [attemptId])).length > 0,
  } satisfies Partial<StoreDriver>
}
