import type { Leftover } from '../../src/adapter.js'
import { SCRIPTS, gap, overStore, driverCall, driverInput, storeInput, type Mutants } from './mutant.js'

const DEFER = 'deferLeftover'

export const deferredLeftoverMutants: Mutants = {
  'returns true when it puts off a leftover that it does not know': [
    driverCall('deferLeftover', async (command, driver) => {
      await driver.deferLeftover(command)
      return true
    }),
    `${DEFER}: stores when the leftover is due, and returns whether it exists`,
    SCRIPTS.aboutRemoving,
  ],
  'puts off leftovers that are not due': [
    driverInput('deferLeftover', (command) => ({ ...command, dueBefore: null })),
    `${DEFER}: puts off only a leftover that is due, if dueBefore is given`,
    'all fields: have an effect on deferLeftover',
    SCRIPTS.aboutRemoving,
  ],
  'ignores readableUntil when it puts off a leftover': [
    driverInput('deferLeftover', (command) => ({ ...command, readableUntil: null })),
    `${DEFER}: sets readableUntil if it is given, for a leftover that it puts off`,
    'all fields: have an effect on deferLeftover',
    SCRIPTS.aboutRemoving,
  ],
  'gives a leftover to every run that has read it while it was due': [
    driverCall('deferLeftover', async ({ dueBefore, ...command }, driver) => {
      const leftovers = await driver.listLeftovers({ scope: null, limit: 1000, after: null })
      const dueAt = leftovers.find(({ attemptId }) => attemptId === command.attemptId)?.dueAt
      await gap()
      if (dueAt && dueBefore && dueAt > dueBefore) return false
      return driver.deferLeftover({ ...command, dueBefore: null })
    }),
    `${DEFER}: gives a leftover that is due to one of several calls`,
  ],
  'puts off an attempt before it ends': [
    overStore((store) => {
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
    `${DEFER}: does nothing for an attempt that is live`,
  ],
  'lists leftovers that are due only after their date': [
    driverInput('listDueLeftovers', (query) => ({
      ...query,
      dueBefore: new Date(query.dueBefore.getTime() - 1),
    })),
    `${DEFER}: leaves leftovers out of lists with dueBefore until they are due`,
    SCRIPTS.aboutRemoving,
  ],
  'lists due leftovers by the time at which they ended': [
    driverCall('listDueLeftovers', async (query, driver) => {
      const due = await driver.listDueLeftovers({ ...query, limit: 1000, after: null })
      due.sort((a, b) => a.since.getTime() - b.since.getTime() || (a.attemptId < b.attemptId ? -1 : 1))
      const first = due.findIndex(({ attemptId }) => attemptId === query.after?.attemptId) + 1
      return due.slice(first, first + query.limit)
    }),
    `${DEFER}: lists those never put off first, by attempt; then by when they are due, then by attempt`,
    SCRIPTS.aboutRemoving,
  ],
  'lists leftovers that were never put off last': [
    driverCall('listDueLeftovers', async (query, driver) => {
      const due = await driver.listDueLeftovers({ ...query, limit: 1000, after: null })
      const never = due.filter(({ dueAt }) => !dueAt)
      const sorted = [...due.filter(({ dueAt }) => dueAt), ...never]
      const first = sorted.findIndex(({ attemptId }) => attemptId === query.after?.attemptId) + 1
      return sorted.slice(first, first + query.limit)
    }),
    `${DEFER}: lists those never put off first, by attempt; then by when they are due, then by attempt`,
  ],
  'lists due leftovers of all scopes': [
    driverInput('listDueLeftovers', (query) => ({ ...query, scope: null })),
    `${DEFER}: lists only due leftovers of the given scope`,
    SCRIPTS.aboutRemoving,
  ],
  'lists 50 due leftovers by default': [
    storeInput('listLeftovers', (input) =>
      input?.dueBefore ? { ...input, limit: input.limit ?? 50 } : input,
    ),
    `${DEFER}: lists 100 at a time by default`,
  ],
  'puts off a leftover that is forgotten meanwhile': [
    driverCall('deferLeftover', async (command, driver) => {
      const leftovers = await driver.listLeftovers({ scope: null, limit: 1000, after: null })
      await gap()
      await driver.deferLeftover(command)
      return leftovers.some(({ attemptId }) => attemptId === command.attemptId)
    }),
    SCRIPTS.aboutLeftovers,
  ],
}
