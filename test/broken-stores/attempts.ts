import { StorageError } from '../../src/adapter.js'
import { NO_QUOTA, SCRIPTS, overDriver, overStore, type Mutant } from './mutant.js'

export const attemptMutants: readonly Mutant[] = [
  {
    defect: 'replaces the upload id of an attempt',
    createStore: overDriver((driver) => ({
      async setUploadId(command) {
        const result = await driver.setUploadId(command)
        const pending = await driver.findPending({ ...command, uploadId: null, scope: null })
        if (result.outcome !== 'other-upload' || pending === null) return result
        await driver.release({ ...command, scope: null, uploadId: null })
        const again = await driver.reserve({
          ...pending,
          ...command,
          declaredSize: pending.declaredSize!,
          expiresAt: pending.expiresAt!,
          overwrite: true,
          quota: NO_QUOTA,
        })
        return again.outcome === 'reserved' ? { outcome: 'set', row: again.row, scopes: [] } : result
      },
    })),
    rejectedBy: ['setUploadId: refuses another upload id', SCRIPTS.aboutAttempts],
  },
  {
    defect: 'ignores the id of setUploadId',
    createStore: overDriver((driver) => ({
      async setUploadId(command) {
        const pending = await driver.findPending({ ...command, id: null, uploadId: null, scope: null })
        return driver.setUploadId({ ...command, id: pending?.id ?? command.id })
      },
    })),
    rejectedBy: ['setUploadId: refuses an ended attempt', SCRIPTS.aboutAttempts],
  },
  {
    defect: 'ignores the id of a release',
    createStore: overDriver((driver) => ({ release: (command) => driver.release({ ...command, id: null }) })),
    rejectedBy: ['release: keeps a newer attempt when an older one is aborted', SCRIPTS.aboutAttempts],
  },
  {
    defect: 'ignores the upload id of a release',
    createStore: overDriver((driver) => ({
      release: (command) => driver.release({ ...command, uploadId: null }),
    })),
    rejectedBy: ['release: releases only the attempt with the given id and upload id', SCRIPTS.aboutAttempts],
  },
  {
    defect: 'ignores the scope of a release',
    createStore: overDriver((driver) => ({
      release: (command) => driver.release({ ...command, scope: null }),
    })),
    rejectedBy: ['release: treats the key of another scope as not found', SCRIPTS.aboutAttempts],
  },
  {
    defect: 'removes the object when its replacement is released',
    createStore: overDriver((driver) => ({
      async release(command) {
        const result = await driver.release(command)
        if (result.row) await driver.remove({ ...command, attemptId: null, mode: 'soft' })
        return result
      },
    })),
    rejectedBy: ['release: keeps the object that the attempt would have replaced', SCRIPTS.aboutAttempts],
  },
  {
    defect: 'updates updatedAt when the same upload id is set again',
    createStore: overStore((store, { now }) => ({
      setUploadId: async (input) => ({ ...(await store.setUploadId(input)), updatedAt: now() }),
    })),
    rejectedBy: ['setUploadId: changes nothing if the same upload id is set again'],
  },
  {
    defect: 'refuses the upload id of an expired reservation',
    createStore: overStore((store, { now }) => ({
      async setUploadId(input) {
        const pending = await store.findPending({ ...input, uploadId: null, scope: null })
        if (pending && pending.expiresAt! <= now()) throw new StorageError('OBJECT_NOT_FOUND')
        return store.setUploadId(input)
      },
    })),
    rejectedBy: ['setUploadId: works on an expired reservation until it is dropped'],
  },
  {
    defect: 'updates updatedAt of a released row',
    createStore: overStore((store, { now }) => ({
      async release(input) {
        const row = await store.release(input)
        return row && { ...row, updatedAt: now() }
      },
    })),
    rejectedBy: ['release: removes the pending row and returns it unchanged'],
  },
  {
    defect: 'returns the active row of a release without a pending row',
    createStore: overStore((store) => ({
      release: async (input) => (await store.release(input)) ?? store.findActive(input),
    })),
    rejectedBy: ['release: returns null if nothing is pending'],
  },
  {
    defect: "doesn't release expired reservations",
    createStore: overStore((store, { now }) => ({
      async release(input) {
        const pending = await store.findPending(input)
        return pending && pending.expiresAt! <= now() ? null : store.release(input)
      },
    })),
    rejectedBy: ['release: works on an expired reservation'],
  },
  {
    defect: 'sets the upload id of an attempt at another key',
    createStore: overDriver((driver) => {
      const keyOf = new Map<string, string>()
      return {
        async reserve(command) {
          keyOf.set(command.id, command.key)
          return driver.reserve(command)
        },
        setUploadId: (command) =>
          driver.setUploadId({ ...command, key: keyOf.get(command.id) ?? command.key }),
      }
    }),
    rejectedBy: ['setUploadId: refuses an attempt of another key'],
  },
  {
    defect: 'releases an attempt without an upload id for any upload id',
    createStore: overDriver((driver) => ({
      async release(command) {
        const pending = await driver.findPending({ ...command, uploadId: null, scope: null })
        return driver.release(
          pending?.uploadId === null ? { ...command, uploadId: null, scope: null } : command,
        )
      },
    })),
    rejectedBy: ['release: ignores an attempt without an upload id if an upload id is given'],
  },
]
