import type { Leftover } from '../../src/adapter.js'
import { SCRIPTS, overChanges, overDriver, overStore, type Mutant } from './mutant.js'

const LEFTOVERS = 'leftovers by scope'

export const leftoverMutants: readonly Mutant[] = [
  {
    defect: 'loses the leftover of a released attempt',
    createStore: overDriver((driver) => ({
      async release(command) {
        const result = await driver.release(command)
        if (result.row) await driver.forgetLeftover(result.row.attemptId)
        return result
      },
    })),
    rejectedBy: [
      'leftovers: record a released attempt, with the time it ended and the time until which it could write',
      SCRIPTS.aboutAttempts,
    ],
  },
  {
    defect: 'loses the leftover of a displaced attempt',
    createStore: overChanges((change) => {
      const { before, after } = change
      const displaced = before.pending && after.pending && before.pending.scope === after.pending.scope
      return displaced ? { ...change, leftovers: [] } : change
    }),
    rejectedBy: ['leftovers: record a displaced attempt', SCRIPTS.aboutRemoving],
  },
  {
    defect: 'loses the leftover of a reservation that another scope takes over',
    createStore: overChanges((change) => {
      const { before, after } = change
      const takenOver = before.pending && after.pending && before.pending.scope !== after.pending.scope
      return takenOver ? { ...change, leftovers: [] } : change
    }),
    rejectedBy: [
      "leftovers: record another scope's expired reservation that was taken over",
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'loses the leftover of a replaced object',
    createStore: overChanges((change) => (change.after.active ? { ...change, leftovers: [] } : change)),
    rejectedBy: [
      'leftovers: record a replaced object under the attempt that created it, without its upload id',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'loses the leftover of a removed object',
    createStore: overDriver((driver) => ({
      async remove(command) {
        const result = await driver.remove(command)
        if (result.row) await driver.forgetLeftover(result.row.attemptId)
        return result
      },
    })),
    rejectedBy: ['leftovers: record a removed object in both modes', SCRIPTS.aboutRemoving],
  },
  {
    defect: 'loses the leftover of the replacement of a removed object',
    createStore: overChanges((change) => ({ ...change, leftovers: change.leftovers.slice(0, 1) })),
    rejectedBy: [
      'leftovers: record both a removed object and its pending replacement',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'loses the leftover of a purged reservation',
    createStore: overDriver((driver) => ({
      async purgeExpired(command) {
        const result = await driver.purgeExpired(command)
        for (const { id } of result.rows) await driver.forgetLeftover(id)
        return result
      },
    })),
    rejectedBy: ['leftovers: record a purged reservation', SCRIPTS.aboutExpiry],
  },
  {
    defect: 'records leftovers only for attempts with a storage key',
    createStore: overLeftovers((leftovers) => leftovers.filter(({ storageKey }) => storageKey !== null)),
    rejectedBy: [
      'leftovers: record attempts with only a storage key or only an upload id',
      SCRIPTS.aboutAttempts,
    ],
  },
  {
    defect: 'sets writableUntil to the end of the attempt',
    createStore: overLeftovers((leftovers) =>
      leftovers.map((each) => ({ ...each, writableUntil: each.since })),
    ),
    rejectedBy: [
      'leftovers: record a released attempt, with the time it ended and the time until which it could write',
      SCRIPTS.aboutExpiry,
    ],
  },
  {
    defect: 'loses writableUntil of a confirmed attempt',
    createStore: overChanges((change) => {
      const { active } = change.after
      if (active === null || !change.before.pending) return change
      return { ...change, after: { ...change.after, active: { ...active, writableUntil: active.updatedAt } } }
    }),
    rejectedBy: ['leftovers: record a removed object in both modes', SCRIPTS.aboutRemoving],
  },
  {
    defect: 'records a leftover under the id of its object',
    createStore: overChanges((change) => ({
      ...change,
      leftovers: change.leftovers.map((each) =>
        each.attemptId === change.before.active?.attemptId
          ? { ...each, attemptId: change.before.active.id }
          : each,
      ),
    })),
    rejectedBy: [
      'leftovers: record a replaced object under the attempt that created it, without its upload id',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'lists leftovers by attempt only',
    createStore: overStore((store) => ({
      async listLeftovers(input = {}) {
        if (input.dueBefore || input.scope) return store.listLeftovers(input)
        const { limit, after } = input
        const all = (await store.listLeftovers({ limit: 1000 })).sort((a, b) =>
          a.attemptId < b.attemptId ? -1 : 1,
        )
        return all.filter(({ attemptId }) => attemptId > (after?.attemptId ?? '')).slice(0, limit ?? 100)
      },
    })),
    rejectedBy: [
      'leftovers: are listed oldest first, and by attempt if they have the same date',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'pages through leftovers by date only',
    createStore: overDriver((driver) => ({
      listLeftovers: (query) =>
        driver.listLeftovers({
          ...query,
          after: query.after && { ...query.after, attemptId: 'ffffffff-ffff-7fff-bfff-ffffffffffff' },
        }),
    })),
    rejectedBy: ['leftovers: are listed in pages even if all have the same date', SCRIPTS.aboutRemoving],
  },
  {
    defect: 'returns true for forgetting an unknown leftover',
    createStore: overDriver((driver) => ({
      async forgetLeftover(attemptId) {
        await driver.forgetLeftover(attemptId)
        return true
      },
    })),
    rejectedBy: ['leftovers: are kept until they are forgotten, which succeeds once', SCRIPTS.aboutRemoving],
  },
  {
    defect: 'drops leftovers along with history',
    createStore: overDriver((driver) => ({
      async purgeDeleted(command) {
        const result = await driver.purgeDeleted(command)
        const leftovers = await driver.listLeftovers({ scope: null, limit: 1000, after: null })
        if (result.dropped > 0) for (const { attemptId } of leftovers) await driver.forgetLeftover(attemptId)
        return result
      },
    })),
    rejectedBy: ['leftovers: outlive the history of their object', SCRIPTS.aboutRemoving],
  },
  {
    defect: 'lists leftovers of live attempts',
    createStore: overStore((store) => ({
      async listLeftovers(input) {
        const { objects } = await store.listByScope({ scope: 'alice', status: 'pending' })
        const live = objects
          .filter(({ storageKey, uploadId }) => storageKey && uploadId)
          .map(({ attemptId, scope, bucket, key, storageKey, uploadId, createdAt, expiresAt }) => ({
            ...{ attemptId, scope, bucket, key, storageKey, uploadId },
            dueAt: null,
            since: createdAt,
            writableUntil: expiresAt!,
          }))
        return [...(await store.listLeftovers(input)), ...live]
      },
    })),
    rejectedBy: ["leftovers: don't exist before an attempt ends"],
  },
  {
    defect: 'dates the leftover of a released upload by its reserve',
    createStore: overChanges((change) => {
      const { before, after, leftovers } = change
      const isReleased = before.pending && !after.pending && before.active === after.active
      if (!isReleased || before.pending?.uploadId === null) return change
      return {
        ...change,
        leftovers: leftovers.map((each) => ({ ...each, since: before.pending!.createdAt })),
      }
    }),
    rejectedBy: [
      'leftovers: record a released attempt, with the time it ended and the time until which it could write',
    ],
  },
  {
    defect: 'records a purged attempt with neither a storage key nor an upload id',
    createStore: overChanges((change) => {
      const { before, after, history } = change
      const { pending } = before
      if (!pending || after.pending || before.active !== after.active || history) return change
      if (pending.storageKey !== null || pending.uploadId !== null) return change
      const { attemptId, scope, bucket, key, storageKey, uploadId, writableUntil } = pending
      const reference = { attemptId, scope, bucket, key, storageKey, uploadId }
      return { ...change, leftovers: [{ ...reference, since: writableUntil, writableUntil, dueAt: null }] }
    }),
    rejectedBy: ["leftovers: don't record attempts with neither a storage key nor an upload id"],
  },
  {
    defect: 'records the upload of a confirmed attempt',
    createStore: overChanges((change) => {
      const { pending } = change.before
      if (!pending?.uploadId || pending.storageKey || change.after.active?.attemptId !== pending.attemptId) {
        return change
      }
      const { attemptId, scope, bucket, key, storageKey, uploadId, writableUntil } = pending
      const reference = { attemptId, scope, bucket, key, storageKey, uploadId }
      const leftover = { ...reference, since: pending.updatedAt, writableUntil, dueAt: null }
      return { ...change, leftovers: [...change.leftovers, leftover] }
    }),
    rejectedBy: ["leftovers: don't record a confirmed upload"],
  },
  {
    defect: 'needs more than a position to list the next leftovers',
    createStore: overStore((store) => ({
      listLeftovers: (input) =>
        store.listLeftovers(input?.after && !('bucket' in input.after) ? { ...input, after: null } : input),
    })),
    rejectedBy: ['leftovers: are listed in pages that start after the last item of the previous page'],
  },
  {
    defect: 'lists 50 leftovers by default',
    createStore: overStore((store) => ({
      listLeftovers: (input) =>
        store.listLeftovers(input?.dueBefore ? input : { ...input, limit: input?.limit ?? 50 }),
    })),
    rejectedBy: ['leftovers: are listed 100 at a time by default'],
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
]

function overLeftovers(
  broken: (leftovers: readonly Leftover[]) => readonly Leftover[],
): Mutant['createStore'] {
  return overChanges((change) => ({ ...change, leftovers: broken(change.leftovers) }))
}
