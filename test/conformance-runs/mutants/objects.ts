import { SCRIPTS, overChanges, overDriver, overStore, type Mutant } from './mutant.js'

/** What replaces, removes and keeps objects. */
export const objectMutants: readonly Mutant[] = [
  {
    it: 'hides an object while its replacement is pending',
    createStore: overStore((store) => ({
      findActive: async (at) => ((await store.findPending(at)) ? null : store.findActive(at)),
    })),
    caughtBy: ['finds: findActive shows the active row or null', SCRIPTS.aboutRemoving],
  },
  {
    it: 'finds the replacement before the object',
    createStore: overStore((store) => ({
      find: async (at) => (await store.findPending(at)) ?? store.find(at),
    })),
    caughtBy: [
      'finds: find shows the active row, else the pending row, else the newest deleted row, else null',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    it: 'finds no history',
    createStore: overStore((store) => ({
      find: async (at) => (await store.findActive(at)) ?? store.findPending(at),
    })),
    caughtBy: [
      'finds: find shows the active row, else the pending row, else the newest deleted row, else null',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    it: 'gives an object the id of its replacement',
    createStore: overReplacements((active) => ({ ...active, id: active.attemptId })),
    caughtBy: [
      'confirm: updates the active row in place: the same id and createdAt, all else from the attempt',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    it: 'gives an object the createdAt of its replacement',
    createStore: overReplacements((active) => ({ ...active, createdAt: active.updatedAt })),
    caughtBy: [
      'confirm: updates the active row in place: the same id and createdAt, all else from the attempt',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    it: 'keeps the metadata of what was replaced',
    createStore: overReplacements((active, replaced) => ({
      ...active,
      metadata: replaced.metadata && { ...replaced.metadata, ...active.metadata },
    })),
    caughtBy: [
      'metadata: of an attempt replaces that of the object, entry by entry none is kept',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    it: 'keeps the attempt of what was replaced',
    createStore: overReplacements((active, replaced) => ({ ...active, attemptId: replaced.attemptId })),
    caughtBy: [
      'confirm: updates the active row in place: the same id and createdAt, all else from the attempt',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    it: 'keeps history of a hard remove',
    createStore: overDriver((driver) => ({
      async remove(command) {
        const active = await driver.findActive(command)
        const result = await driver.remove({ ...command, mode: 'soft' })
        return command.mode === 'hard' && result.row && active ? { ...result, row: active } : result
      },
    })),
    caughtBy: [
      'remove: drops the row where the mode is hard, and returns it as it was',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    it: 'drops the row of a soft remove',
    createStore: overChanges((change) => ({ ...change, history: null })),
    caughtBy: [
      'remove: keeps the object as history by default, and returns it as it now is',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    it: 'loses metadata and eTag of what is removed',
    createStore: overChanges((change) => ({
      ...change,
      history: change.history && { ...change.history, metadata: null, eTag: null },
    })),
    caughtBy: ['records: keeps every field of an object in its history', SCRIPTS.aboutRemoving],
  },
  {
    it: 'leaves the replacement of what is removed',
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
    caughtBy: ['remove: removes a pending replacement with the object', SCRIPTS.aboutRemoving],
  },
  {
    it: 'does not remove what is only pending',
    createStore: overDriver((driver) => ({
      remove: async (command) =>
        (await driver.findActive(command)) ? driver.remove(command) : { row: null, scopes: [] },
    })),
    caughtBy: [
      'remove: releases a key that has only a pending row, and returns that as it was',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    it: 'removes for any scope',
    createStore: overDriver((driver) => ({
      remove: (command) => driver.remove({ ...command, scope: null }),
    })),
    caughtBy: ['remove: answers another scope as if nothing were there', SCRIPTS.aboutRemoving],
  },
  {
    it: 'drops older history with every remove',
    createStore: overDriver((driver) => ({
      async remove(command) {
        await driver.purgeDeleted({ before: new Date(command.now.getTime() - 1), limit: 1000 })
        return driver.remove(command)
      },
    })),
    caughtBy: ['history: keeps every object that was ever at a key', SCRIPTS.aboutRemoving],
  },
  {
    it: 'drops one row of history more than the date allows',
    createStore: overDriver((driver) => ({
      purgeDeleted: (command) =>
        driver.purgeDeleted({ ...command, before: new Date(command.before.getTime() + 1) }),
    })),
    caughtBy: ['history: is dropped by purgeDeleted up to a date, that date included', SCRIPTS.aboutRemoving],
  },
  {
    it: 'does not drop history of the very date',
    createStore: overDriver((driver) => ({
      purgeDeleted: (command) =>
        driver.purgeDeleted({ ...command, before: new Date(command.before.getTime() - 1) }),
    })),
    caughtBy: ['history: is dropped by purgeDeleted up to a date, that date included', SCRIPTS.aboutRemoving],
  },
  {
    it: 'drops all history whatever the limit',
    createStore: overDriver((driver) => ({
      purgeDeleted: (command) => driver.purgeDeleted({ ...command, limit: 1000 }),
    })),
    caughtBy: ['history: is dropped oldest first where purgeDeleted has a limit', SCRIPTS.aboutRemoving],
  },
]

type Change = Parameters<Parameters<typeof overChanges>[0]>[0]
type Row = NonNullable<Change['after']['active']>

/** The memory store that makes another row of a replacement than the contract does. */
function overReplacements(broken: (active: Row, replaced: Row) => Row): Mutant['createStore'] {
  return overChanges((change) => {
    const { before, after } = change
    const replaced = before.active && before.pending && after.active && !after.pending ? before.active : null
    return replaced ? { ...change, after: { ...after, active: broken(after.active!, replaced) } } : change
  })
}
