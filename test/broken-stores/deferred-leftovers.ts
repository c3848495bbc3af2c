import type { Leftover } from '../../src/adapter.js'
import { SCRIPTS, gap, overDriver, overStore, type Mutant } from './mutant.js'

const DEFER = 'deferLeftover'

export const deferredLeftoverMutants: readonly Mutant[] = [
  {
    defect: 'returns true when it puts off a leftover that it does not know',
    createStore: overDriver((driver) => ({
      async deferLeftover(command) {
        await driver.deferLeftover(command)
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
        driver.listDueLeftovers({ ...query, dueBefore: new Date(query.dueBefore.getTime() - 1) }),
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
        const due = await driver.listDueLeftovers({ ...query, limit: 1000, after: null })
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
        const due = await driver.listDueLeftovers({ ...query, limit: 1000, after: null })
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
      listDueLeftovers: (query) => driver.listDueLeftovers({ ...query, scope: null }),
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
        await driver.deferLeftover(command)
        return leftovers.some(({ attemptId }) => attemptId === command.attemptId)
      },
    })),
    rejectedBy: [SCRIPTS.aboutLeftovers],
  },
]
