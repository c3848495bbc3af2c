import type { Leftover } from '../../src/adapter.js'
import { SCRIPTS, gap, invalid, overChanges, overDriver, overStore, type Mutant } from './mutant.js'

const REMOVE = 'remove of an attempt'
const LEFTOVERS = 'leftovers by scope'
const DEFER = 'deferLeftover'
const HISTORY = 'history of a scope'

/** Mutants of the calls and fields that contract 1.6 added. */
export const addedMutants: readonly Mutant[] = [
  {
    defect: 'ignores the attempt of a remove',
    createStore: overDriver((driver) => ({
      remove: (command) => driver.remove({ ...command, attemptId: null }),
    })),
    rejectedBy: [
      `${REMOVE}: names an object by the attempt that was confirmed last, not by its id`,
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'takes the id of an object for its attempt in a remove',
    createStore: overDriver((driver) => ({
      async remove(command) {
        const active = await driver.findActive(command)
        const isNamed = active !== null && active.id === command.attemptId
        return driver.remove(isNamed ? { ...command, attemptId: active.attemptId } : command)
      },
    })),
    rejectedBy: [`${REMOVE}: names an object by the attempt that was confirmed last, not by its id`],
  },
  {
    defect: 'keeps the replacement of an object that is removed by its attempt',
    createStore: overDriver((driver) => ({
      async remove(command) {
        if (command.attemptId === null) return driver.remove(command)
        const query = { ...command, id: null, uploadId: null }
        const pending = await driver.findPending(query)
        const result = await driver.remove(command)
        if (pending && result.row && result.row.id !== pending.id) {
          const { declaredSize, expiresAt } = pending
          const again = { declaredSize: declaredSize!, expiresAt: expiresAt!, overwrite: true }
          const quota = { maxBytes: null, maxFiles: null }
          await driver.forgetLeftover(pending.id)
          await driver.reserve({ ...pending, ...again, quota, now: pending.createdAt })
        }
        return result
      },
    })),
    rejectedBy: [
      `${REMOVE}: removes the object, and its pending replacement, if the active row has the attempt`,
    ],
  },
  {
    defect: 'removes the object along with the attempt that would replace it',
    createStore: overDriver((driver) => ({
      async remove(command) {
        const pending = await driver.findPending({ ...command, id: null, uploadId: null })
        const isNamed = pending !== null && pending.id === command.attemptId
        return driver.remove(isNamed ? { ...command, attemptId: null } : command)
      },
    })),
    rejectedBy: [`${REMOVE}: removes only the pending row if that has the attempt`, SCRIPTS.aboutRemoving],
  },
  {
    defect: 'finds no pending row by its attempt in a remove',
    createStore: overDriver((driver) => ({
      async remove(command) {
        const active = await driver.findActive(command)
        if (command.attemptId === null || active !== null) return driver.remove(command)
        return { row: null, scopes: [] }
      },
    })),
    rejectedBy: [`${REMOVE}: removes a pending row without an object`],
  },
  {
    defect: 'removes an attempt of any scope',
    createStore: overDriver((driver) => ({
      remove: (command) => driver.remove(command.attemptId === null ? command : { ...command, scope: null }),
    })),
    rejectedBy: [`${REMOVE}: finds nothing if no live row has the attempt, or another scope has it`],
  },
  {
    defect: 'records the scope that takes a key over instead of the one that ended',
    createStore: overChanges((change) => ({
      ...change,
      leftovers: change.leftovers.map((each) => ({
        ...each,
        scope: change.after.pending?.scope ?? each.scope,
      })),
    })),
    rejectedBy: [
      `${LEFTOVERS}: record the scope of the attempt, also if another scope takes its key over`,
      SCRIPTS.aboutExpiry,
    ],
  },
  {
    defect: 'lists the leftovers of all scopes',
    createStore: overDriver((driver) => ({
      listLeftovers: (query) => driver.listLeftovers({ ...query, scope: null }),
    })),
    rejectedBy: [`${LEFTOVERS}: list only leftovers of the given scope, in pages`, SCRIPTS.aboutRemoving],
  },
  {
    defect: 'returns true when it puts off a leftover that it does not know',
    createStore: overDriver((driver) => ({
      async deferLeftover(command) {
        await driver.deferLeftover!(command)
        return true
      },
    })),
    rejectedBy: [
      `${DEFER}: stores when the leftover is due, and returns whether it exists`,
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'puts off an attempt before it ends',
    createStore: overStore((store) => {
      const early = new Map<string, Date>()
      return {
        async deferLeftover(input) {
          const isThere = await store.deferLeftover(input)
          if (!isThere) early.set(input.attemptId, input.until)
          return isThere
        },
        async listLeftovers(input) {
          const leftovers: Leftover[] = await store.listLeftovers(input)
          return leftovers.map((each) => ({
            ...each,
            dueAt: each.dueAt ?? early.get(each.attemptId) ?? null,
          }))
        },
      }
    }),
    rejectedBy: [`${DEFER}: does nothing for an attempt that is live`],
  },
  {
    defect: 'lists leftovers that are due only after their date',
    createStore: overDriver((driver) => ({
      listDueLeftovers: (query) =>
        driver.listDueLeftovers!({ ...query, dueBefore: new Date(query.dueBefore.getTime() - 1) }),
    })),
    rejectedBy: [
      `${DEFER}: leaves leftovers out of lists with dueBefore until they are due`,
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'lists due leftovers by the time at which they ended',
    createStore: overDriver((driver) => ({
      async listDueLeftovers(query) {
        const due = await driver.listDueLeftovers!({ ...query, limit: 1000, after: null })
        due.sort((a, b) => a.since.getTime() - b.since.getTime() || (a.attemptId < b.attemptId ? -1 : 1))
        const first = due.findIndex(({ attemptId }) => attemptId === query.after?.attemptId) + 1
        return due.slice(first, first + query.limit)
      },
    })),
    rejectedBy: [
      `${DEFER}: lists those never put off first, by attempt; then by when they are due, then by attempt`,
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'lists leftovers that were never put off last',
    createStore: overDriver((driver) => ({
      async listDueLeftovers(query) {
        const due = await driver.listDueLeftovers!({ ...query, limit: 1000, after: null })
        const never = due.filter(({ dueAt }) => !dueAt)
        const sorted = [...due.filter(({ dueAt }) => dueAt), ...never]
        const first = sorted.findIndex(({ attemptId }) => attemptId === query.after?.attemptId) + 1
        return sorted.slice(first, first + query.limit)
      },
    })),
    rejectedBy: [
      `${DEFER}: lists those never put off first, by attempt; then by when they are due, then by attempt`,
    ],
  },
  {
    defect: 'lists due leftovers of all scopes',
    createStore: overDriver((driver) => ({
      listDueLeftovers: (query) => driver.listDueLeftovers!({ ...query, scope: null }),
    })),
    rejectedBy: [`${DEFER}: lists only due leftovers of the given scope`, SCRIPTS.aboutRemoving],
  },
  {
    defect: 'lists 50 due leftovers by default',
    createStore: overStore((store) => ({
      listLeftovers: (input) =>
        store.listLeftovers(input?.dueBefore ? { ...input, limit: input.limit ?? 50 } : input),
    })),
    rejectedBy: [`${DEFER}: lists 100 at a time by default`],
  },
  {
    defect: 'puts off a leftover that is forgotten meanwhile',
    createStore: overDriver((driver) => ({
      async deferLeftover(command) {
        const leftovers = await driver.listLeftovers({ scope: null, limit: 1000, after: null })
        await gap()
        await driver.deferLeftover!(command)
        return leftovers.some(({ attemptId }) => attemptId === command.attemptId)
      },
    })),
    rejectedBy: [SCRIPTS.aboutLeftovers],
  },
  {
    defect: 'drops the history of all scopes',
    createStore: overDriver((driver) => ({
      purgeDeleted: (command) => driver.purgeDeleted({ ...command, scope: null }),
    })),
    rejectedBy: [`${HISTORY}: is dropped alone by purgeDeleted with that scope`, SCRIPTS.aboutRemoving],
  },
  {
    defect: 'ignores date and limit when it drops the history of a scope',
    createStore: overDriver((driver) => ({
      purgeDeleted: (command) =>
        driver.purgeDeleted(
          command.scope === null ? command : { ...command, before: new Date(8.64e14), limit: 1000 },
        ),
    })),
    rejectedBy: [`${HISTORY}: is dropped up to a date, in order of deletion and then of id`],
  },
  {
    defect: 'ignores unknown fields of purges',
    createStore: overStore((store) => ({
      async purgeExpired(input) {
        const { scope, before, limit } = input ?? {}
        return store.purgeExpired(typeof input === 'object' ? { scope, before, limit } : input)
      },
      async purgeDeleted(input) {
        if (typeof input !== 'object' || input === null) throw invalid('input')
        const { scope, before, limit } = input
        return store.purgeDeleted({ scope, before, limit })
      },
    })),
    rejectedBy: ['validation: refuses unknown fields of purges, and purges nothing'],
  },
  {
    defect: 'finds rows of any scope',
    createStore: overStore((store) => ({
      find: async (input) => store.find({ ...input, scope: null }),
      findActive: async (input) => store.findActive({ ...input, scope: null }),
      findPending: async (input) => store.findPending({ ...input, scope: null }),
    })),
    rejectedBy: ['find calls: find calls with a scope return a row only if it belongs to that scope'],
  },
  {
    defect: 'lists metadata that it was asked to leave out',
    createStore: overDriver((driver) => ({
      list: (query) => driver.list({ ...query, withMetadata: true }),
    })),
    rejectedBy: [
      'listByScope: returns rows without metadata if asked to, with a cursor that works either way',
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'refuses a quota without what unfinished uploads hold',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const result = await driver.reserve(command)
        return result.outcome === 'quota-exceeded' ? { ...result, reserved: 0 } : result
      },
      async confirm(command) {
        const result = await driver.confirm(command)
        return result.outcome === 'quota-exceeded' ? { ...result, reserved: 0 } : result
      },
    })),
    rejectedBy: ['quota: checks the sum of stored and reserved bytes', SCRIPTS.aboutQuotas],
  },
]
