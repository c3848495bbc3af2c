import { StorageError, type StorageObject, createAttemptId } from '../../src/adapter.js'
import { END_OF_TIME } from '../conformance/clock.js'
import {
  SCRIPTS,
  overChanges,
  withActive,
  overDriver,
  overEveryRow,
  overReplacements,
  overStore,
  driverInput,
  driverCall,
  driverResult,
  storeCall,
  storeInput,
  storeResult,
  type Mutants,
  referenceOf,
} from './mutant.js'

export const confirmMutants: Mutants = {
  'ignores the id of a confirm': [
    driverInput('confirm', async (command, driver) => {
      const pending = await driver.findPending({ ...command, id: null, uploadId: null })
      return pending ? { ...command, id: null } : command
    }),
    'confirm: confirms only the attempt with the given id',
    SCRIPTS.aboutAttempts,
  ],
  'refuses a repeated confirm': [
    driverCall('confirm', async (command, driver) => {
      const pending = await driver.findPending({ ...command, uploadId: null })
      return pending ? driver.confirm(command) : { outcome: 'not-found' }
    }),
    'confirm: accepts a repeat by the attempt of the active row with the same size',
    SCRIPTS.aboutAttempts,
  ],
  'accepts a repeated confirm with another size or eTag': [
    driverResult('confirm', async (result, command, driver) => {
      const active = await driver.findActive(command)
      if (result.outcome !== 'not-found' || active === null || active.attemptId !== command.id) return result
      return { outcome: 'confirmed', row: active, isRepeat: true, replaced: null }
    }),
    'confirm: refuses a repeat with another size or another eTag',
    SCRIPTS.aboutAttempts,
  ],
  'accepts the id of the object as the id of its attempt': [
    driverInput('confirm', async (command, driver) => {
      const active = await driver.findActive(command)
      return active?.id === command.id && active ? { ...command, id: active.attemptId } : command
    }),
    'confirm: refuses a repeat by a replaced attempt, or by the id of the object',
  ],
  'updates updatedAt with a repeated confirm': [
    storeCall('confirm', async (input, store, { now }) => {
      return { ...(await store.confirm(input)), updatedAt: now() }
    }),
    'confirm: accepts a repeat by the attempt of the active row with the same size',
    SCRIPTS.aboutAttempts,
  ],
  'ignores the scope of a confirm': [
    driverInput('confirm', (command) => ({ ...command, scope: null })),
    'confirm: treats the key of another scope as not found',
    SCRIPTS.aboutAttempts,
  ],
  'refuses to confirm an expired reservation': [
    storeInput('confirm', async (input, store, { now }) => {
      const pending = await store.findPending(referenceOf(input))
      if (pending && pending.expiresAt! <= now()) throw new StorageError('OBJECT_NOT_FOUND')
      return input
    }),
    'confirm: works on an expired reservation until it is dropped',
    SCRIPTS.aboutAttempts,
  ],
  'drops the content type of the attempt': [
    overChanges((change) => {
      const { before, after } = change
      const confirmed = before.pending && after.active && !after.pending ? after.active : null
      const isKept = confirmed && confirmed.contentType === before.pending?.contentType
      return isKept ? withActive(change, { contentType: null }) : change
    }),
    'confirm: keeps the content type of the attempt if none is given',
    SCRIPTS.aboutAttempts,
  ],
  'returns the object for a confirm without an id although another attempt is pending': [
    storeCall('confirm', async (input, store) => {
      const active =
        input?.id == null && input?.eTag != null ? await store.findActive(referenceOf(input)) : null
      const isSame = active !== null && active.size === input.size && active.eTag === input.eTag
      return isSame ? active : store.confirm(input)
    }),
    'confirm: confirms the pending row without an id, even if size and eTag match the active row',
  ],
  'gives the object of a confirm without an id a new id': [
    (context) => {
      const ids = new Map<string, string>()
      const store = overEveryRow((row) => ({ ...row, id: ids.get(row.id) ?? row.id }))(context)
      return {
        ...store,
        async confirm(input) {
          const active = await store.findActive(referenceOf(input))
          const row = await store.confirm(input)
          if (input.id != null || active !== null) return row
          ids.set(row.id, createAttemptId())
          return { ...row, id: ids.get(row.id)! }
        },
      }
    },
    'confirm: confirms the pending row if no id is given',
  ],
  'ignores the content type of a confirm': [
    storeInput('confirm', async (input, store) => {
      const pending = await store.findPending(referenceOf(input))
      return { ...input, contentType: pending?.contentType ?? input.contentType }
    }),
    'confirm: makes the pending row active with the verified fields',
    SCRIPTS.aboutAttempts,
  ],
  'accepts a repeat without an id and without an eTag': [
    storeCall('confirm', (input, store) =>
      store.confirm(input).catch(async (error: unknown) => {
        const active = input?.id == null ? await store.findActive(referenceOf(input)) : null
        if (active === null || active.eTag !== null || active.size !== input.size) throw error
        return active
      }),
    ),
    'confirm: refuses a repeat without an id if the active row has no eTag',
  ],
  'accepts a repeat with an eTag if the object has none': [
    storeCall('confirm', (input, store) =>
      store.confirm(input).catch(async (error: unknown) => {
        const active = input?.id != null ? await store.findActive(referenceOf(input)) : null
        if (active?.attemptId !== input.id || active?.eTag !== null) throw error
        return active
      }),
    ),
    'confirm: refuses a repeat with an eTag if the active row has none',
  ],
  'confirms a released attempt': [
    overStore((store) => {
      const released = new Map<string, StorageObject>()
      return {
        async release(input) {
          const row = await store.release(input)
          if (row) released.set(row.id, row)
          return row
        },
        async confirm(input) {
          const row = released.get(input?.id ?? '')
          if (row) await store.reserve({ ...row, declaredSize: row.declaredSize!, expiresAt: row.expiresAt! })
          return store.confirm(input)
        },
      }
    }),
    'confirm: refuses a released attempt',
  ],
  'creates the object of a confirm without a reservation': [
    storeInput('confirm', async (input, store) => {
      if (input?.id == null && (await store.find(referenceOf(input))) === null) {
        const { bucket, key, size } = input
        await store.reserve({ scope: 'alice', bucket, key, declaredSize: size, expiresAt: END_OF_TIME })
      }
      return input
    }),
    'confirm: refuses a key that was never reserved',
  ],
  'confirms an attempt of another key': [
    overDriver((driver) => {
      const keyOf = new Map<string, string>()
      return {
        async reserve(command) {
          keyOf.set(command.id, command.key)
          return driver.reserve(command)
        },
        confirm: (command) =>
          driver.confirm({ ...command, key: (command.id && keyOf.get(command.id)) ?? command.key }),
      }
    }),
    'confirm: refuses an attempt of another key',
  ],
  'gives a new object the id of the removed one': [
    storeResult('confirm', async (row, _input, store) => {
      const { objects } = await store.listByScope({ scope: row.scope, status: 'deleted' })
      return row.storageKey ? row : { ...row, id: objects.find(({ key }) => key === row.key)?.id ?? row.id }
    }),
    'confirm: creates a new object if the key was removed before',
  ],
  'changes the id of an object with its second replacement': [
    overReplacements((active, replaced) =>
      replaced.id === replaced.attemptId ? active : { ...active, id: active.attemptId },
    ),
    'confirm: keeps the id of the first attempt through many replacements',
  ],
  'accepts a repeat after the object was removed': [
    storeCall('confirm', (input, store) =>
      store.confirm(input).catch(async (error: unknown) => {
        const row = input?.id == null ? null : await store.find(referenceOf(input))
        if (row?.status !== 'deleted' || row.attemptId !== input.id) throw error
        return row
      }),
    ),
    'confirm: refuses a repeat after the object was removed',
  ],
}
