import { StorageError } from '../../src/adapter.js'
import {
  NO_QUOTA,
  SCRIPTS,
  overDriver,
  driverResult,
  driverInput,
  storeResult,
  storeInput,
  storeCall,
  type Mutants,
  NO_TERMS,
  referenceOf,
} from './mutant.js'

export const attemptMutants: Mutants = {
  'ends an arrived attempt that a release leaves out': [
    driverInput('release', (command) => ({ ...command, unlessArrived: false })),
    'arrived attempts: stay where a release leaves them out, which ends others',
  ],
  'replaces the upload id of an attempt': [
    driverResult('setUploadId', async (result, command, driver) => {
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
        ...NO_TERMS,
      })
      return again.outcome === 'reserved' ? { outcome: 'set', row: again.row, scopes: [] } : result
    }),
    'setUploadId: refuses another upload id',
    SCRIPTS.aboutAttempts,
  ],
  'ignores the id of setUploadId': [
    driverInput('setUploadId', async (command, driver) => {
      const pending = await driver.findPending({ ...command, id: null, uploadId: null, scope: null })
      return { ...command, id: pending?.id ?? command.id }
    }),
    'setUploadId: refuses an ended attempt',
    SCRIPTS.aboutAttempts,
  ],
  'ignores the id of a release': [
    driverInput('release', (command) => ({ ...command, id: null })),
    'release: keeps a newer attempt when an older one is aborted',
    SCRIPTS.aboutAttempts,
  ],
  'ignores the upload id of a release': [
    driverInput('release', (command) => ({ ...command, uploadId: null })),
    'release: releases only the attempt with the given id and upload id',
    SCRIPTS.aboutAttempts,
  ],
  'ignores the scope of a release': [
    driverInput('release', (command) => ({ ...command, scope: null })),
    'release: treats the key of another scope as not found',
    'all fields: have an effect on release',
    SCRIPTS.aboutAttempts,
  ],
  'removes the object when its replacement is released': [
    driverResult('release', async (result, command, driver) => {
      if (result.row) await driver.remove({ ...command, attemptId: null, mode: 'soft' })
      return result
    }),
    'release: keeps the object that the attempt would have replaced',
    SCRIPTS.aboutAttempts,
  ],
  'updates updatedAt when the same upload id is set again': [
    storeResult('setUploadId', (result, _input, _store, { now }) => ({ ...result, updatedAt: now() })),
    'setUploadId: changes nothing if the same upload id is set again',
  ],
  'refuses the upload id of an expired reservation': [
    storeInput('setUploadId', async (input, store, { now }) => {
      const pending = await store.findPending({ ...input, uploadId: null, scope: null })
      if (pending && pending.expiresAt! <= now()) throw new StorageError('OBJECT_NOT_FOUND')
      return input
    }),
    'setUploadId: works on an expired reservation until it is dropped',
  ],
  'updates updatedAt of a released row': [
    storeResult('release', (row, _input, _store, { now }) => row && { ...row, updatedAt: now() }),
    'release: removes the pending row and returns it unchanged',
  ],
  'returns the active row of a release without a pending row': [
    storeResult('release', (result, input, store) => result ?? store.findActive(referenceOf(input))),
    'release: returns null if nothing is pending',
  ],
  "doesn't release expired reservations": [
    storeCall('release', async (input, store, { now }) => {
      const pending = await store.findPending(referenceOf(input))
      return pending && pending.expiresAt! <= now() ? null : store.release(input)
    }),
    'release: works on an expired reservation',
  ],
  'sets the upload id of an attempt at another key': [
    overDriver((driver) => {
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
    'setUploadId: refuses an attempt of another key',
  ],
  'releases an attempt without an upload id for any upload id': [
    driverInput('release', async (command, driver) => {
      const pending = await driver.findPending({ ...command, uploadId: null, scope: null })
      return pending?.uploadId === null ? { ...command, uploadId: null, scope: null } : command
    }),
    'release: ignores an attempt without an upload id if an upload id is given',
  ],
}
