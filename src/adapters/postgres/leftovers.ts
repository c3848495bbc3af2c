import { timeOfAttempt } from '../../core/store/attempt-id.js'
import type { StoreDriver } from '../../core/store/driver.js'
import type { Leftover } from '../../core/store/records.js'
import type { PostgresValue } from './connection/database.js'
import type { Calls } from './connection/retries.js'
import type { IndexMarks } from './index-marks.js'
import { FROM_START } from './low-water-mark.js'
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
      const { result } = await marks.within(scope).leftovers.look(Date.now(), async (from) => {
        const found = await list(startText(from), FIRST_ID)
        return { result: found, first: found[0]?.since.getTime() ?? null }
      })
      return result
    },

    async listDueLeftovers({ scope, dueBefore, limit, after }) {
      const { undeferred, deferred } = marks.within(scope)
      const list = async (undeferredAfter: string, [dueFrom, dueAfter]: readonly [string, string]) => {
        const values = [scope, dueBefore.toISOString(), undeferredAfter, dueFrom, dueAfter, limit]
        return (await idempotent(lists.listDueLeftovers, values)).map(readLeftover)
      }
      if (after?.dueAt) return list(LAST_ID, [after.dueAt.toISOString(), after.attemptId])

      const listBoth = async (undeferredAfter: string) => {
        const { result } = await deferred.look(dueBefore.getTime(), async (from) => {
          // Those that were never put off come before all others.
          const start = from === FROM_START ? LAST_ID : FIRST_ID
          const found = await list(undeferredAfter, [startText(from), start])
          const first = found.find(({ dueAt }) => dueAt !== null)?.dueAt?.getTime()
          // A page that is full without any says nothing about them.
          return { result: found, first: first ?? (found.length < limit ? null : from) }
        })
        return result
      }
      if (after) return listBoth(after.attemptId)
      const { result } = await undeferred.look(Date.now(), async (from) => {
        const found = await listBoth(idAt(from))
        const first = found[0]?.dueAt === null ? timeOfAttempt(found[0].attemptId) : null
        return { result: found, first }
      })
      return result
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

/** Returns a position before all attempt ids of this time. */
function idAt(time: number): string {
  if (time <= 0) return FIRST_ID
  const digits = time.toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}${FIRST_ID.slice(13)}`
}
