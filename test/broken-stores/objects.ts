import { SCRIPTS, overChanges, overDriver, overReplacements, overStore, type Mutant } from './mutant.js'

const REMOVE = 'remove of an attempt'
const HISTORY = 'history of a scope'

export const objectMutants: readonly Mutant[] = [
  {
    defect: 'changes the id of an object with its replacement',
    createStore: overReplacements((active) => ({ ...active, id: active.attemptId })),
    rejectedBy: [
      'confirm: updates the active row in place: keeps id and createdAt, and takes the other fields from the attempt',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'changes createdAt of an object with its replacement',
    createStore: overReplacements((active) => ({ ...active, createdAt: active.updatedAt })),
    rejectedBy: [
      'confirm: updates the active row in place: keeps id and createdAt, and takes the other fields from the attempt',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'merges the metadata of a replacement',
    createStore: overReplacements((active, replaced) => ({
      ...active,
      metadata: replaced.metadata && { ...replaced.metadata, ...active.metadata },
    })),
    rejectedBy: ['metadata: is replaced as a whole, without merging entries', SCRIPTS.aboutRemoving],
  },
  {
    defect: 'keeps the attemptId of a replaced object',
    createStore: overReplacements((active, replaced) => ({ ...active, attemptId: replaced.attemptId })),
    rejectedBy: [
      'confirm: updates the active row in place: keeps id and createdAt, and takes the other fields from the attempt',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'keeps history after a hard remove',
    createStore: overDriver((driver) => ({
      async remove(command) {
        const active = await driver.findActive(command)
        const result = await driver.remove({ ...command, mode: 'soft' })
        return command.mode === 'hard' && result.row && active ? { ...result, row: active } : result
      },
    })),
    rejectedBy: [
      'remove: drops the row if the mode is hard, and returns it unchanged',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'keeps no history after a soft remove',
    createStore: overChanges((change) => ({ ...change, history: null })),
    rejectedBy: [
      'remove: keeps the object as history by default, and returns the deleted row',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'loses metadata and eTag of a removed object',
    createStore: overChanges((change) => ({
      ...change,
      history: change.history && { ...change.history, metadata: null, eTag: null },
    })),
    rejectedBy: ['records: keeps every field of an object in its history', SCRIPTS.aboutRemoving],
  },
  {
    defect: 'keeps the replacement of a removed object',
    createStore: overDriver((driver) => ({
      async remove(command) {
        const active = await driver.findActive(command)
        const pending = await driver.findPending({ ...command, id: null, uploadId: null })
        const result = await driver.remove(command)
        if (result.row && active && pending) {
          await driver.forgetLeftover(pending.id)
          await driver.reserve({
            ...pending,
            declaredSize: pending.declaredSize!,
            expiresAt: pending.expiresAt!,
            overwrite: true,
            quota: { maxBytes: null, maxFiles: null },
            now: pending.createdAt,
          })
        }
        return result
      },
    })),
    rejectedBy: ['remove: removes the object and its pending replacement', SCRIPTS.aboutRemoving],
  },
  {
    defect: "doesn't remove keys that are only pending",
    createStore: overDriver((driver) => ({
      remove: async (command) =>
        (await driver.findActive(command)) ? driver.remove(command) : { row: null, scopes: [] },
    })),
    rejectedBy: [
      'remove: releases a key that is only pending, and returns the pending row unchanged',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'ignores the scope of a remove',
    createStore: overDriver((driver) => ({
      remove: (command) => driver.remove({ ...command, scope: null }),
    })),
    rejectedBy: ['remove: treats the key of another scope as not found', SCRIPTS.aboutRemoving],
  },
  {
    defect: 'drops older history with every remove',
    createStore: overDriver((driver) => ({
      async remove(command) {
        await driver.purgeDeleted({
          scope: null,
          before: new Date(command.now.getTime() - 1),
          limit: 1000,
        })
        return driver.remove(command)
      },
    })),
    rejectedBy: ['history: keeps every removed object of a key', SCRIPTS.aboutRemoving],
  },
  {
    defect: 'drops history a millisecond too late',
    createStore: overDriver((driver) => ({
      purgeDeleted: (command) =>
        driver.purgeDeleted({ ...command, before: new Date(command.before.getTime() + 1) }),
    })),
    rejectedBy: ['history: is dropped by purgeDeleted up to and including a date', SCRIPTS.aboutRemoving],
  },
  {
    defect: 'keeps history that was deleted at the given date',
    createStore: overDriver((driver) => ({
      purgeDeleted: (command) =>
        driver.purgeDeleted({ ...command, before: new Date(command.before.getTime() - 1) }),
    })),
    rejectedBy: ['history: is dropped by purgeDeleted up to and including a date', SCRIPTS.aboutRemoving],
  },
  {
    defect: 'ignores the limit of purgeDeleted',
    createStore: overDriver((driver) => ({
      purgeDeleted: (command) => driver.purgeDeleted({ ...command, limit: 1000 }),
    })),
    rejectedBy: [
      'history: is dropped in order of deletion if purgeDeleted has a limit',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'returns the old updatedAt of a removed object',
    createStore: overStore((store) => ({
      async remove(input) {
        const active = await store.findActive(input)
        const row = await store.remove(input)
        return row?.status === 'deleted' ? { ...row, updatedAt: active!.updatedAt } : row
      },
    })),
    rejectedBy: ['remove: keeps the object as history by default, and returns the deleted row'],
  },
  {
    defect: 'returns the history of a key if nothing is live',
    createStore: overStore((store) => ({
      remove: async (input) => (await store.remove(input)) ?? store.find(input),
    })),
    rejectedBy: ['remove: returns null if nothing is live'],
  },
  {
    defect: 'returns the replacement of a removed object',
    createStore: overStore((store) => ({
      async remove(input) {
        const pending = await store.findPending(input)
        return (await store.remove(input)) && (pending ?? store.find(input))
      },
    })),
    rejectedBy: ['remove: removes the object and its pending replacement'],
  },
  {
    defect: 'removes the key from all buckets',
    createStore: overStore((store) => ({
      async remove(input) {
        if (input?.bucket === 'bucket') await store.remove({ ...input, bucket: 'another bucket' })
        return store.remove(input)
      },
    })),
    rejectedBy: ['remove: keeps the rows of other keys'],
  },
  {
    defect: "doesn't remove expired reservations",
    createStore: overStore((store, { now }) => ({
      async remove(input) {
        const row = await store.find(input)
        return row?.expiresAt && row.expiresAt <= now() ? null : store.remove(input)
      },
    })),
    rejectedBy: ['remove: works on an expired reservation'],
  },
  {
    defect: 'keeps a key with history for the scope of the history',
    createStore: overStore((store) => ({
      async remove(input) {
        const { objects } = await store.listByScope({ scope: 'alice', status: 'deleted' })
        const isOfAlice = objects.some(({ key }) => key === input?.key)
        return isOfAlice && input.scope != null && input.scope !== 'alice' ? null : store.remove(input)
      },
    })),
    rejectedBy: ['remove: removes an object at a key with history of another scope'],
  },
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
]
