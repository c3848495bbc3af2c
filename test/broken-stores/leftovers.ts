import type { Leftover } from '../../src/adapter.js'
import {
  SCRIPTS,
  overChanges,
  withActive,
  driverResult,
  storeCall,
  driverInput,
  driverCall,
  storeInput,
  type Mutants,
  type Mutant,
} from './mutant.js'

const LEFTOVERS = 'leftovers by scope'

export const leftoverMutants: Mutants = {
  'loses the leftover of a released attempt': [
    driverResult('release', async (result, _command, driver) => {
      if (result.row) await driver.forgetLeftover(result.row.attemptId)
      return result
    }),
    'leftovers: record a released attempt, with the time it ended and the time until which it could write',
    SCRIPTS.aboutAttempts,
  ],
  'loses the leftover of a displaced attempt': [
    overChanges((change) => {
      const { before, after } = change
      const displaced = before.pending && after.pending && before.pending.scope === after.pending.scope
      return displaced ? { ...change, leftovers: [] } : change
    }),
    'leftovers: record a displaced attempt',
    SCRIPTS.aboutRemoving,
  ],
  'loses the leftover of a reservation that another scope takes over': [
    overChanges((change) => {
      const { before, after } = change
      const takenOver = before.pending && after.pending && before.pending.scope !== after.pending.scope
      return takenOver ? { ...change, leftovers: [] } : change
    }),
    "leftovers: record another scope's expired reservation that was taken over",
    SCRIPTS.ofAnything,
  ],
  'loses the leftover of a replaced object': [
    overChanges((change) => (change.after.active ? { ...change, leftovers: [] } : change)),
    'leftovers: record a replaced object under the attempt that created it, without its upload id',
    SCRIPTS.aboutRemoving,
  ],
  'loses the leftover of a removed object': [
    driverResult('remove', async (result, _command, driver) => {
      if (result.row) await driver.forgetLeftover(result.row.attemptId)
      return result
    }),
    'leftovers: record a removed object in both modes',
    SCRIPTS.aboutRemoving,
  ],
  'loses the leftover of the replacement of a removed object': [
    overChanges((change) => ({ ...change, leftovers: change.leftovers.slice(0, 1) })),
    'leftovers: record both a removed object and its pending replacement',
    SCRIPTS.aboutRemoving,
  ],
  'loses the leftover of a purged reservation': [
    driverResult('purgeExpired', async (result, _command, driver) => {
      for (const { id } of result.rows) await driver.forgetLeftover(id)
      return result
    }),
    'leftovers: record a purged reservation',
    SCRIPTS.aboutExpiry,
  ],
  'records leftovers only for attempts with a storage key': [
    overLeftovers((leftovers) => leftovers.filter(({ storageKey }) => storageKey !== null)),
    'leftovers: record attempts with only a storage key or only an upload id',
    SCRIPTS.aboutAttempts,
  ],
  'sets writableUntil to the end of the attempt': [
    overLeftovers((leftovers) => leftovers.map((each) => ({ ...each, writableUntil: each.since }))),
    'leftovers: record a released attempt, with the time it ended and the time until which it could write',
    SCRIPTS.aboutExpiry,
  ],
  'loses writableUntil of a confirmed attempt': [
    overChanges((change) => {
      const { active } = change.after
      if (active === null || !change.before.pending) return change
      return withActive(change, { writableUntil: active.updatedAt })
    }),
    'leftovers: record a removed object in both modes',
    SCRIPTS.aboutRemoving,
  ],
  'records a leftover under the id of its object': [
    overChanges((change) => ({
      ...change,
      leftovers: change.leftovers.map((each) =>
        each.attemptId === change.before.active?.attemptId
          ? { ...each, attemptId: change.before.active.id }
          : each,
      ),
    })),
    'leftovers: record a replaced object under the attempt that created it, without its upload id',
    SCRIPTS.aboutRemoving,
  ],
  'lists leftovers by attempt only': [
    storeCall('listLeftovers', async (input = {}, store) => {
      if (input.dueBefore || input.scope) return store.listLeftovers(input)
      const { limit, after } = input
      const all = (await store.listLeftovers({ limit: 1000 })).sort((a, b) =>
        a.attemptId < b.attemptId ? -1 : 1,
      )
      return all.filter(({ attemptId }) => attemptId > (after?.attemptId ?? '')).slice(0, limit ?? 100)
    }),
    'leftovers: are listed oldest first, and by attempt if they have the same date',
    SCRIPTS.aboutRemoving,
  ],
  'pages through leftovers by date only': [
    driverInput('listLeftovers', (query) => ({
      ...query,
      after: query.after && { ...query.after, attemptId: 'ffffffff-ffff-7fff-bfff-ffffffffffff' },
    })),
    'leftovers: are listed in pages even if all have the same date',
    SCRIPTS.aboutRemoving,
  ],
  'returns true for forgetting an unknown leftover': [
    driverCall('forgetLeftover', async (attemptId, driver) => {
      await driver.forgetLeftover(attemptId)
      return true
    }),
    'leftovers: are kept until they are forgotten, which succeeds once',
    'all fields: have an effect on forgetLeftover',
    SCRIPTS.aboutRemoving,
  ],
  'drops leftovers along with history': [
    driverResult('purgeDeleted', async (result, _command, driver) => {
      const leftovers = await driver.listLeftovers({ scope: null, limit: 1000, after: null })
      if (result.dropped > 0) for (const { attemptId } of leftovers) await driver.forgetLeftover(attemptId)
      return result
    }),
    'leftovers: outlive the history of their object',
    SCRIPTS.aboutRemoving,
  ],
  'lists leftovers of live attempts': [
    storeCall('listLeftovers', async (input, store) => {
      const { objects } = await store.listByScope({ scope: 'alice', status: 'pending' })
      const live = objects
        .filter(({ storageKey, uploadId }) => storageKey && uploadId)
        .map(({ attemptId, scope, bucket, key, storageKey, uploadId, createdAt, expiresAt }) => ({
          ...{ attemptId, scope, bucket, key, storageKey, uploadId },
          dueAt: null,
          readableUntil: null,
          since: createdAt,
          writableUntil: expiresAt!,
        }))
      return [...(await store.listLeftovers(input)), ...live]
    }),
    "leftovers: don't exist before an attempt ends",
  ],
  'dates the leftover of a released upload by its reserve': [
    overChanges((change) => {
      const { before, after, leftovers } = change
      const isReleased = before.pending && !after.pending && before.active === after.active
      if (!isReleased || before.pending?.uploadId === null) return change
      return {
        ...change,
        leftovers: leftovers.map((each) => ({ ...each, since: before.pending!.createdAt })),
      }
    }),
    'leftovers: record a released attempt, with the time it ended and the time until which it could write',
  ],
  'records a purged attempt with neither a storage key nor an upload id': [
    overChanges((change) => {
      const { before, after, history } = change
      const { pending } = before
      if (!pending || after.pending || before.active !== after.active || history) return change
      if (pending.storageKey !== null || pending.uploadId !== null) return change
      const { attemptId, scope, bucket, key, storageKey, uploadId, writableUntil } = pending
      const reference = { attemptId, scope, bucket, key, storageKey, uploadId }
      return {
        ...change,
        leftovers: [{ ...reference, since: writableUntil, writableUntil, dueAt: null, readableUntil: null }],
      }
    }),
    "leftovers: don't record attempts with neither a storage key nor an upload id",
  ],
  'records the upload of a confirmed attempt': [
    overChanges((change) => {
      const { pending } = change.before
      if (!pending?.uploadId || pending.storageKey || change.after.active?.attemptId !== pending.attemptId) {
        return change
      }
      const { attemptId, scope, bucket, key, storageKey, uploadId, writableUntil } = pending
      const reference = { attemptId, scope, bucket, key, storageKey, uploadId }
      const dates = { since: pending.updatedAt, writableUntil, dueAt: null, readableUntil: null }
      const leftover = { ...reference, ...dates }
      return { ...change, leftovers: [...change.leftovers, leftover] }
    }),
    "leftovers: don't record a confirmed upload",
  ],
  'needs more than a position to list the next leftovers': [
    storeInput('listLeftovers', (input) =>
      input?.after && !('bucket' in input.after) ? { ...input, after: null } : input,
    ),
    'leftovers: are listed in pages that start after the last item of the previous page',
  ],
  'lists 50 leftovers by default': [
    storeInput('listLeftovers', (input) =>
      input?.dueBefore ? input : { ...input, limit: input?.limit ?? 50 },
    ),
    'leftovers: are listed 100 at a time by default',
  ],
  'records the scope that takes a key over instead of the one that ended': [
    overChanges((change) => ({
      ...change,
      leftovers: change.leftovers.map((each) => ({
        ...each,
        scope: change.after.pending?.scope ?? each.scope,
      })),
    })),
    `${LEFTOVERS}: record the scope of the attempt, also if another scope takes its key over`,
    SCRIPTS.aboutExpiry,
  ],
  'lists the leftovers of all scopes': [
    driverInput('listLeftovers', (query) => ({ ...query, scope: null })),
    `${LEFTOVERS}: list only leftovers of the given scope, in pages`,
    SCRIPTS.aboutRemoving,
  ],
}

function overLeftovers(
  broken: (leftovers: readonly Leftover[]) => readonly Leftover[],
): Mutant['createStore'] {
  return overChanges((change) => ({ ...change, leftovers: broken(change.leftovers) }))
}
