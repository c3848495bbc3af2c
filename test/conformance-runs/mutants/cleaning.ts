import type { Leftover } from '@svc/db'
import { SCRIPTS, overChanges, overDriver, overStore, type Mutant } from './mutant.js'

/** What lapses, is purged, and is left in the bucket. */
export const expiryMutants: readonly Mutant[] = [
  {
    it: 'takes a reservation for lapsed a millisecond late',
    createStore: overDriver((driver) => ({
      listExpired: (query) => driver.listExpired({ ...query, before: new Date(query.before.getTime() - 1) }),
    })),
    caughtBy: ['listExpired: lists a row from the very moment in which it lapses', SCRIPTS.aboutLapsing],
  },
  {
    it: 'lists what will have lapsed by a date to come',
    createStore: overDriverWithoutClamp('listExpired'),
    caughtBy: [
      'listExpired: takes before as the latest expiry, and a later one than now as now',
      SCRIPTS.aboutLapsing,
    ],
  },
  {
    it: 'purges what will have lapsed by a date to come',
    createStore: overDriverWithoutClamp('purgeExpired'),
    caughtBy: [
      'purgeExpired: takes before as the latest expiry, and a later one than now as now',
      SCRIPTS.aboutLapsing,
    ],
  },
  {
    it: 'lists lapsed rows in the order of their creation',
    createStore: overStore((store) => ({
      async listExpired(input) {
        const rows = await store.listExpired(input)
        return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
      },
    })),
    caughtBy: [
      'listExpired: lists lapsed rows, earliest expiry first, and changes nothing',
      SCRIPTS.aboutLapsing,
    ],
  },
  {
    it: 'pages through lapsed rows by their expiry alone',
    createStore: overDriver((driver) => ({
      listExpired: (query) =>
        driver.listExpired({
          ...query,
          after: query.after && { ...query.after, id: 'ffffffff-ffff-7fff-bfff-ffffffffffff' },
        }),
    })),
    caughtBy: [
      'listExpired: pages through rows of the same expiry, also when the one before is gone',
      SCRIPTS.aboutLapsing,
    ],
  },
  {
    it: 'lists the lapsed rows of all scopes',
    createStore: overDriver((driver) => ({
      listExpired: (query) => driver.listExpired({ ...query, scope: null }),
    })),
    caughtBy: ['listExpired: lists only the rows of the scope that it is given', SCRIPTS.aboutLapsing],
  },
  {
    it: 'purges a row that has not lapsed',
    createStore: overDriver((driver) => ({
      purgeExpired: (command) =>
        driver.purgeExpired({ ...command, before: new Date(command.before.getTime() + 1) }),
    })),
    caughtBy: ['purgeExpired: takes only rows that are still pending and lapsed', SCRIPTS.aboutLapsing],
  },
  {
    it: 'purges the lapsed rows of all scopes',
    createStore: overDriver((driver) => ({
      purgeExpired: (command) => driver.purgeExpired({ ...command, scope: null }),
    })),
    caughtBy: ['purgeExpired: takes only rows of the scope that it is given', SCRIPTS.aboutLapsing],
  },
  {
    it: 'purges the object with its lapsed replacement',
    createStore: overDriver((driver) => ({
      async purgeExpired(command) {
        const result = await driver.purgeExpired(command)
        for (const row of result.rows) await driver.remove({ ...row, mode: 'soft', now: command.now })
        return result
      },
    })),
    caughtBy: [
      'purgeExpired: drops a lapsed replacement and never the object that it was to replace',
      SCRIPTS.aboutLapsing,
    ],
  },
  {
    it: 'purges all lapsed rows whatever the limit',
    createStore: overDriver((driver) => ({
      purgeExpired: (command) => driver.purgeExpired({ ...command, limit: 1000 }),
    })),
    caughtBy: ['purgeExpired: takes as many as the limit says, earliest expiry first', SCRIPTS.aboutLapsing],
  },
  {
    it: 'answers purged rows latest expiry first',
    createStore: overStore((store) => ({
      purgeExpired: async (input) => (await store.purgeExpired(input)).reverse(),
    })),
    caughtBy: ['purgeExpired: removes lapsed rows and returns them as they were, earliest expiry first'],
  },
]

export const leftoverMutants: readonly Mutant[] = [
  {
    it: 'forgets what a released attempt left',
    createStore: overDriver((driver) => ({
      async release(command) {
        const result = await driver.release(command)
        if (result.row) await driver.forgetLeftover(result.row.attemptId)
        return result
      },
    })),
    caughtBy: [
      'leftovers: remember a released attempt, with when it ended and until when it could write',
      SCRIPTS.aboutAttempts,
    ],
  },
  {
    it: 'forgets what a displaced attempt left',
    createStore: overChanges((change) => {
      const { before, after } = change
      const displaced = before.pending && after.pending && before.pending.scope === after.pending.scope
      return displaced ? { ...change, leftovers: [] } : change
    }),
    caughtBy: ['leftovers: remember an attempt that a new one displaced', SCRIPTS.aboutRemoving],
  },
  {
    it: 'forgets what a reservation left that another scope took over',
    createStore: overChanges((change) => {
      const { before, after } = change
      const takenOver = before.pending && after.pending && before.pending.scope !== after.pending.scope
      return takenOver ? { ...change, leftovers: [] } : change
    }),
    caughtBy: [
      "leftovers: remember another scope's lapsed reservation that was taken over",
      SCRIPTS.ofAnything,
    ],
  },
  {
    it: 'forgets what a replaced object left',
    createStore: overChanges((change) => (change.after.active ? { ...change, leftovers: [] } : change)),
    caughtBy: [
      'leftovers: remember what a confirm replaced, by the attempt that had made it and without its upload',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    it: 'forgets what a removed object left',
    createStore: overDriver((driver) => ({
      async remove(command) {
        const result = await driver.remove(command)
        if (result.row) await driver.forgetLeftover(result.row.attemptId)
        return result
      },
    })),
    caughtBy: ['leftovers: remember what was removed, softly or hard', SCRIPTS.aboutRemoving],
  },
  {
    it: 'forgets what the replacement of a removed object left',
    createStore: overChanges((change) => ({ ...change, leftovers: change.leftovers.slice(0, 1) })),
    caughtBy: [
      'leftovers: remember both the object and the pending replacement that were removed',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    it: 'forgets what a purged reservation left',
    createStore: overDriver((driver) => ({
      async purgeExpired(command) {
        const result = await driver.purgeExpired(command)
        for (const { id } of result.rows) await driver.forgetLeftover(id)
        return result
      },
    })),
    caughtBy: ['leftovers: remember what was dropped as lapsed', SCRIPTS.aboutLapsing],
  },
  {
    it: 'remembers leftovers only of what has a storage key',
    createStore: overLeftovers((leftovers) => leftovers.filter(({ storageKey }) => storageKey !== null)),
    caughtBy: [
      'leftovers: remember an attempt that has only a storage key, and one that has only an upload',
      SCRIPTS.aboutAttempts,
    ],
  },
  {
    it: 'takes the end of an attempt for the end of its writing',
    createStore: overLeftovers((leftovers) =>
      leftovers.map((each) => ({ ...each, writableUntil: each.since })),
    ),
    caughtBy: [
      'leftovers: remember a released attempt, with when it ended and until when it could write',
      SCRIPTS.aboutLapsing,
    ],
  },
  {
    it: 'forgets until when a confirmed attempt could write',
    createStore: overChanges((change) => {
      const { active } = change.after
      if (active === null || !change.before.pending) return change
      return { ...change, after: { ...change.after, active: { ...active, writableUntil: active.updatedAt } } }
    }),
    caughtBy: ['leftovers: remember what was removed, softly or hard', SCRIPTS.aboutRemoving],
  },
  {
    it: 'names a leftover by the id of its object',
    createStore: overChanges((change) => ({
      ...change,
      leftovers: change.leftovers.map((each) =>
        each.attemptId === change.before.active?.attemptId
          ? { ...each, attemptId: change.before.active.id }
          : each,
      ),
    })),
    caughtBy: [
      'leftovers: remember what a confirm replaced, by the attempt that had made it and without its upload',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    it: 'lists leftovers by attempt alone',
    createStore: overStore((store) => ({
      async listLeftovers({ limit, after } = {}) {
        const all = (await store.listLeftovers({ limit: 1000 })).sort((a, b) =>
          a.attemptId < b.attemptId ? -1 : 1,
        )
        return all.filter(({ attemptId }) => attemptId > (after?.attemptId ?? '')).slice(0, limit ?? 100)
      },
    })),
    caughtBy: [
      'leftovers: come oldest first, and by attempt where they are of the same moment',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    it: 'pages through leftovers by their date alone',
    createStore: overDriver((driver) => ({
      listLeftovers: (query) =>
        driver.listLeftovers({
          ...query,
          after: query.after && { ...query.after, attemptId: 'ffffffff-ffff-7fff-bfff-ffffffffffff' },
        }),
    })),
    caughtBy: ['leftovers: come page by page where all are of the same moment', SCRIPTS.aboutRemoving],
  },
  {
    it: 'says that it forgot what it never knew',
    createStore: overDriver((driver) => ({
      async forgetLeftover(attemptId) {
        await driver.forgetLeftover(attemptId)
        return true
      },
    })),
    caughtBy: ['leftovers: stay until they are forgotten, once', SCRIPTS.aboutRemoving],
  },
  {
    it: 'drops leftovers with the history of their object',
    createStore: overDriver((driver) => ({
      async purgeDeleted(command) {
        const result = await driver.purgeDeleted(command)
        const leftovers = await driver.listLeftovers({ limit: 1000, after: null })
        if (result.dropped > 0) for (const { attemptId } of leftovers) await driver.forgetLeftover(attemptId)
        return result
      },
    })),
    caughtBy: ['leftovers: outlive the history of their object', SCRIPTS.aboutRemoving],
  },
]

function overLeftovers(
  broken: (leftovers: readonly Leftover[]) => readonly Leftover[],
): Mutant['createStore'] {
  return overChanges((change) => ({ ...change, leftovers: broken(change.leftovers) }))
}

/** A driver that is told of a later `before` than now, as if the store had not held it back. */
function overDriverWithoutClamp(call: 'listExpired' | 'purgeExpired'): Mutant['createStore'] {
  return (context) => {
    let latest: Date | null = null
    const store = overDriver((driver) => ({
      [call]: (query: Parameters<typeof driver.listExpired>[0] & Parameters<typeof driver.purgeExpired>[0]) =>
        driver[call]({ ...query, before: latest ?? query.before }),
    }))(context)
    return {
      ...store,
      [call]: (input: { before?: Date | null } = {}) => {
        latest = input.before ?? null
        return store[call](input)
      },
    }
  }
}
