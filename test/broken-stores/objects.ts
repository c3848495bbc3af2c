import {
  SCRIPTS,
  overChanges,
  overReplacements,
  driverCall,
  driverInput,
  driverResult,
  storeCall,
  storeInput,
  storeResult,
  type Mutants,
  NO_TERMS,
  referenceOf,
} from './mutant.js'

const REMOVE = 'remove of an attempt'
const OBJECT_HISTORY = 'history of an object'
const HISTORY = 'history of a scope'

export const objectMutants: Mutants = {
  'changes the id of an object with its replacement': [
    overReplacements((active) => ({ ...active, id: active.attemptId })),
    'confirm: updates the active row in place: keeps id and createdAt, and takes the other fields from the attempt',
    SCRIPTS.aboutRemoving,
  ],
  'changes createdAt of an object with its replacement': [
    overReplacements((active) => ({ ...active, createdAt: active.updatedAt })),
    'confirm: updates the active row in place: keeps id and createdAt, and takes the other fields from the attempt',
    SCRIPTS.aboutRemoving,
  ],
  'merges the metadata of a replacement': [
    overReplacements((active, replaced) => ({
      ...active,
      metadata: replaced.metadata && { ...replaced.metadata, ...active.metadata },
    })),
    'metadata: is replaced as a whole, without merging entries',
    SCRIPTS.aboutRemoving,
  ],
  'keeps the attemptId of a replaced object': [
    overReplacements((active, replaced) => ({ ...active, attemptId: replaced.attemptId })),
    'confirm: updates the active row in place: keeps id and createdAt, and takes the other fields from the attempt',
    SCRIPTS.aboutRemoving,
  ],
  'keeps history after a hard remove': [
    driverCall('remove', async (command, driver) => {
      const active = await driver.findActive(command)
      const result = await driver.remove({ ...command, mode: 'soft' })
      return command.mode === 'hard' && result.row && active ? { ...result, row: active } : result
    }),
    'remove: drops the row if the mode is hard, and returns it unchanged',
    SCRIPTS.aboutRemoving,
  ],
  'keeps no history after a soft remove': [
    overChanges((change) => ({ ...change, history: null })),
    'remove: keeps the object as history by default, and returns the deleted row',
    SCRIPTS.aboutRemoving,
  ],
  'loses metadata and eTag of a removed object': [
    overChanges((change) => ({
      ...change,
      history: change.history && { ...change.history, metadata: null, eTag: null },
    })),
    'records: keeps every field of an object in its history',
    SCRIPTS.aboutRemoving,
  ],
  'keeps the replacement of a removed object': [
    driverCall('remove', async (command, driver) => {
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
          ...NO_TERMS,
          now: pending.createdAt,
        })
      }
      return result
    }),
    'remove: removes the object and its pending replacement',
    SCRIPTS.aboutRemoving,
  ],
  "doesn't remove keys that are only pending": [
    driverCall('remove', async (command, driver) =>
      (await driver.findActive(command)) ? driver.remove(command) : { row: null, scopes: [] },
    ),
    'remove: releases a key that is only pending, and returns the pending row unchanged',
    SCRIPTS.aboutRemoving,
  ],
  'ignores the scope of a remove': [
    driverInput('remove', (command) => ({ ...command, scope: null })),
    'remove: treats the key of another scope as not found',
    SCRIPTS.aboutRemoving,
  ],
  'drops older history with every remove': [
    driverInput('remove', async (command, driver) => {
      await driver.purgeDeleted({
        id: null,
        scope: null,
        before: new Date(command.now.getTime() - 1),
        limit: 1000,
      })
      return command
    }),
    'history: keeps every removed object of a key',
    SCRIPTS.aboutRemoving,
  ],
  'drops history a millisecond too late': [
    driverInput('purgeDeleted', (command) => ({
      ...command,
      before: new Date(command.before.getTime() + 1),
    })),
    'history: is dropped by purgeDeleted up to and including a date',
    SCRIPTS.aboutRemoving,
  ],
  'keeps history that was deleted at the given date': [
    driverInput('purgeDeleted', (command) => ({
      ...command,
      before: new Date(command.before.getTime() - 1),
    })),
    'history: is dropped by purgeDeleted up to and including a date',
    SCRIPTS.aboutRemoving,
  ],
  'drops the history of a key in all buckets': [
    driverCall('purgeDeleted', async (command, driver) => {
      const history = () =>
        driver.list({
          ...{ scope: 'alice', statuses: ['deleted'], route: null, before: null, limit: 1000 },
          ...{ withMetadata: false, fromPrimary: true },
        })
      const rows = await history()
      const result = await driver.purgeDeleted(command)
      const kept = await history()
      const dropped = rows.filter(({ id }) => !kept.some((row) => row.id === id))
      for (const { key, bucket, deletedAt } of kept) {
        const isElsewhere = dropped.some((row) => row.key === key && row.bucket !== bucket)
        if (isElsewhere) await driver.purgeDeleted({ ...command, before: deletedAt! })
      }
      return result
    }),
    'history: is dropped by purgeDeleted without that of the same key in another bucket',
  ],
  'ignores the limit of purgeDeleted': [
    driverInput('purgeDeleted', (command) => ({ ...command, limit: 1000 })),
    'history: is dropped in order of deletion if purgeDeleted has a limit',
    SCRIPTS.aboutRemoving,
  ],
  'returns the old updatedAt of a removed object': [
    storeCall('remove', async (input, store) => {
      const active = await store.findActive(referenceOf(input))
      const row = await store.remove(input)
      return row?.status === 'deleted' ? { ...row, updatedAt: active!.updatedAt } : row
    }),
    'remove: keeps the object as history by default, and returns the deleted row',
  ],
  'returns the history of a key if nothing is live': [
    storeResult('remove', (result, input, store) => result ?? store.find(referenceOf(input))),
    'remove: returns null if nothing is live',
  ],
  'returns the replacement of a removed object': [
    storeCall('remove', async (input, store) => {
      const pending = await store.findPending(referenceOf(input))
      return (await store.remove(input)) && (pending ?? store.find(referenceOf(input)))
    }),
    'remove: removes the object and its pending replacement',
  ],
  'removes the key from all buckets': [
    storeCall('remove', async (input, store) => {
      if (input?.bucket === 'bucket') await store.remove({ ...input, bucket: 'another bucket' })
      return store.remove(input)
    }),
    'remove: keeps the rows of other keys',
  ],
  "doesn't remove expired reservations": [
    storeCall('remove', async (input, store, { now }) => {
      const row = await store.find(referenceOf(input))
      return row?.expiresAt && row.expiresAt <= now() ? null : store.remove(input)
    }),
    'remove: works on an expired reservation',
  ],
  'keeps a key with history for the scope of the history': [
    storeCall('remove', async (input, store) => {
      const { objects } = await store.listByScope({ scope: 'alice', status: 'deleted' })
      const isOfAlice = objects.some(({ key }) => key === input?.key)
      return isOfAlice && input.scope != null && input.scope !== 'alice' ? null : store.remove(input)
    }),
    'remove: removes an object at a key with history of another scope',
  ],
  'ignores the attempt of a remove': [
    driverInput('remove', (command) => ({ ...command, attemptId: null })),
    `${REMOVE}: names an object by the attempt that was confirmed last, not by its id`,
    'all fields: have an effect on remove',
    SCRIPTS.aboutRemoving,
  ],
  'takes the id of an object for its attempt in a remove': [
    driverInput('remove', async (command, driver) => {
      const active = await driver.findActive(command)
      const isNamed = active !== null && active.id === command.attemptId
      return isNamed ? { ...command, attemptId: active.attemptId } : command
    }),
    `${REMOVE}: names an object by the attempt that was confirmed last, not by its id`,
  ],
  'keeps the replacement of an object that is removed by its attempt': [
    driverCall('remove', async (command, driver) => {
      if (command.attemptId === null) return driver.remove(command)
      const query = { ...command, id: null, uploadId: null }
      const pending = await driver.findPending(query)
      const result = await driver.remove(command)
      if (pending && result.row && result.row.id !== pending.id) {
        const { declaredSize, expiresAt } = pending
        const again = { declaredSize: declaredSize!, expiresAt: expiresAt!, overwrite: true }
        const quota = { maxBytes: null, maxFiles: null }
        await driver.forgetLeftover(pending.id)
        await driver.reserve({ ...pending, ...again, ...NO_TERMS, quota, now: pending.createdAt })
      }
      return result
    }),
    `${REMOVE}: removes the object, and its pending replacement, if the active row has the attempt`,
  ],
  'removes the object along with the attempt that would replace it': [
    driverInput('remove', async (command, driver) => {
      const pending = await driver.findPending({ ...command, id: null, uploadId: null })
      const isNamed = pending !== null && pending.id === command.attemptId
      return isNamed ? { ...command, attemptId: null } : command
    }),
    `${REMOVE}: removes only the pending row if that has the attempt`,
    SCRIPTS.aboutRemoving,
  ],
  'finds no pending row by its attempt in a remove': [
    driverCall('remove', async (command, driver) => {
      const active = await driver.findActive(command)
      if (command.attemptId === null || active !== null) return driver.remove(command)
      return { row: null, scopes: [] }
    }),
    `${REMOVE}: removes a pending row without an object`,
  ],
  'removes an attempt of any scope': [
    driverInput('remove', (command) => (command.attemptId === null ? command : { ...command, scope: null })),
    `${REMOVE}: finds nothing if no live row has the attempt, or another scope has it`,
  ],
  'drops the history of all scopes': [
    driverInput('purgeDeleted', (command) => ({ ...command, scope: null })),
    `${HISTORY}: is dropped alone by purgeDeleted with that scope`,
    SCRIPTS.aboutRemoving,
  ],
  'ignores date and limit when it drops the history of a scope': [
    driverInput('purgeDeleted', (command) =>
      command.scope === null ? command : { ...command, before: new Date(8.64e14), limit: 1000 },
    ),
    `${HISTORY}: is dropped up to a date, in order of deletion and then of id`,
  ],
  'drops the history of all objects': [
    driverInput('purgeDeleted', (command) => ({ ...command, id: null })),
    `${OBJECT_HISTORY}: is dropped alone by purgeDeleted with its id, whenever it was deleted`,
    SCRIPTS.aboutRemoving,
  ],
  'drops the history of an object up to now': [
    storeInput('purgeDeleted', (input, _store, { now }) => ({ ...input, before: input.before ?? now() })),
    `${OBJECT_HISTORY}: is dropped alone by purgeDeleted with its id, whenever it was deleted`,
  ],
  'drops the history that has an attempt': [
    driverInput('purgeDeleted', async (command, driver) => {
      const query = { bucket: 'bucket', key: 'key', scope: null }
      const row = command.id === null ? null : await driver.find(query)
      return row?.attemptId === command.id ? { ...command, id: row.id } : command
    }),
    `${OBJECT_HISTORY}: has the id of the object, not that of its last attempt`,
  ],
  'drops the live row with the history of an object': [
    driverResult('purgeDeleted', async (result, command, driver) => {
      const row = command.id === null ? null : await driver.findById({ id: command.id, scope: command.scope })
      if (row?.status !== 'active') return result
      await driver.remove({ ...row, attemptId: null, mode: 'hard', now: row.updatedAt })
      return { dropped: 1 }
    }),
    `${OBJECT_HISTORY}: is dropped without changing what lives at its key`,
  ],
  'ignores the scope of the history of an object': [
    driverInput('purgeDeleted', (command) => (command.id === null ? command : { ...command, scope: null })),
    `${OBJECT_HISTORY}: is dropped only if scope and date match too`,
  ],
  'ignores the date of the history of an object': [
    driverInput('purgeDeleted', (command) =>
      command.id === null ? command : { ...command, before: new Date(8.64e14) },
    ),
    `${OBJECT_HISTORY}: is dropped only if scope and date match too`,
  ],
}
