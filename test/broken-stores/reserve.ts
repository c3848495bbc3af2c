import { createAttemptId } from '../../src/adapter.js'
import { EARLY_IDS, attemptIdOf } from '../conformance/attempt-ids.js'
import {
  SCRIPTS,
  isOverQuota,
  overDriver,
  overEveryRow,
  driverInput,
  driverCall,
  driverResult,
  storeInput,
  type Mutants,
  referenceOf,
} from './mutant.js'

/** The ids that a store makes are greater, those of the cases are less. */
const OWN_IDS = attemptIdOf(EARLY_IDS + 1, 0)

export const reserveMutants: Mutants = {
  'creates a new attempt for a repeated reserve': [
    driverInput('reserve', async (command, driver) => {
      const pending = await driver.findPending({ ...command, uploadId: null })
      if (pending?.scope === command.scope) await driver.release({ ...command, uploadId: null })
      return command
    }),
    'reserve: returns the pending row unchanged if the same scope repeats its id',
    SCRIPTS.ofAnything,
  ],
  'checks the quota of a repeated reserve': [
    driverCall('reserve', async (command, driver) => {
      const pending = await driver.findPending({ ...command, uploadId: null })
      if (pending?.scope !== command.scope) return driver.reserve(command)
      const anew = await driver.reserve({
        ...command,
        key: `${command.key}!`,
        id: `${command.id.slice(0, -1)}f`,
      })
      await driver.release({ ...command, key: `${command.key}!`, id: null, scope: null, uploadId: null })
      return isOverQuota(anew) ? anew : driver.reserve(command)
    }),
    'reserve: checks only the input before it returns the pending row of a repeat',
  ],
  'lets any scope take a pending key': [
    driverInput('reserve', async (command, driver) => {
      const pending = await driver.findPending({ ...command, scope: null, id: null, uploadId: null })
      const active = await driver.findActive(command)
      if (pending && !active && pending.scope !== command.scope) {
        await driver.release({ ...command, id: null, scope: null, uploadId: null })
      }
      return command
    }),
    'reserve: refuses a key that is live in another scope',
    SCRIPTS.ofAnything,
  ],
  "refuses a key with another scope's expired reservation": [
    driverCall('reserve', async (command, driver) => {
      const row = await driver.find(command)
      const foreign = row !== null && row.status !== 'deleted' && row.scope !== command.scope
      return foreign ? { outcome: 'key-conflict' } : driver.reserve(command)
    }),
    "reserve: takes over a key that holds only another scope's expired reservation, and drops that reservation",
    SCRIPTS.aboutExpiry,
  ],
  "refuses a key with another scope's history": [
    driverCall('reserve', async (command, driver) => {
      const row = await driver.find(command)
      return row && row.scope !== command.scope && row.status === 'deleted'
        ? { outcome: 'key-conflict' }
        : driver.reserve(command)
    }),
    "history: doesn't occupy the key: any scope may reserve it again",
    SCRIPTS.ofAnything,
  ],
  "drops another scope's expired reservation even if it refuses the reserve": [
    driverInput('reserve', async (command, driver) => {
      const { now, bucket, key } = command
      const expired = await driver.listExpired({ scope: null, before: now, limit: 1000, after: null })
      const foreign = expired.find(
        (row) => row.bucket === bucket && row.key === key && row.scope !== command.scope,
      )
      if (foreign && !(await driver.findActive(command))) {
        await driver.release({ ...foreign, uploadId: null, now })
      }
      return command
    }),
    "reserve: keeps another scope's expired reservation if the reserve is refused",
    SCRIPTS.aboutExpiry,
  ],
  'accepts a storage key that is already used': [
    driverResult('reserve', (result, command, driver) => {
      if (result.outcome !== 'reused-storage-key') return result
      return driver.reserve({ ...command, storageKey: null })
    }),
    'reserve: refuses the storage key of the active row and of the attempt it would displace',
    SCRIPTS.ofAnything,
  ],
  'ignores overwrite: false': [
    driverInput('reserve', (command) => ({ ...command, overwrite: true })),
    'reserve: refuses an active key if overwrite is false',
    'all fields: have an effect on reserve',
    SCRIPTS.ofAnything,
  ],
  'treats an absent overwrite as false': [
    storeInput('reserve', (input) => ({ ...input, overwrite: input.overwrite ?? false })),
    'reserve: overwrites by default',
    SCRIPTS.ofAnything,
  ],
  'checks the quota before the owner of the key': [
    driverCall('reserve', async (command, driver) => {
      const { bytes, reservedBytes } = await driver.usage(command.scope)
      const used = bytes + reservedBytes
      const max = command.quota.maxBytes
      const result = await driver.reserve(command)
      if (result.outcome !== 'key-conflict' || max === null || used + command.declaredSize <= max)
        return result
      const excess = { max, used, reserved: reservedBytes, requested: command.declaredSize }
      return { outcome: 'maxBytes', ...excess }
    }),
    'reserve: reports the first failed check in the order of the contract',
    SCRIPTS.ofAnything,
  ],
  'confirms a displaced attempt': [
    overDriver((driver) => {
      const displaced = new Map<string, string>()
      return {
        async reserve(command) {
          const pending = await driver.findPending({ ...command, id: null, uploadId: null })
          const result = await driver.reserve(command)
          if (pending && result.outcome === 'reserved') displaced.set(pending.id, result.row.id)
          return result
        },
        confirm: (command) =>
          driver.confirm({ ...command, id: command.id && (displaced.get(command.id) ?? command.id) }),
      }
    }),
    'reserve: allows only the new attempt to be confirmed',
    SCRIPTS.ofAnything,
  ],
  'returns another attemptId if the caller chose the id': [
    overEveryRow((row) =>
      row.id < OWN_IDS && row.id === row.attemptId ? { ...row, attemptId: `${row.id.slice(0, -1)}f` } : row,
    ),
    'reserve: uses the given id as the id and the attemptId of the row',
  ],
  'keeps fields of a displaced attempt': [
    storeInput('reserve', async (input, store) => {
      const pending = await store.findPending(referenceOf(input))
      const displaces = pending?.scope === input.scope && pending.id !== input.id
      return displaces ? { ...input, filename: input.filename ?? pending.filename } : input
    }),
    'reserve: creates a new attempt that displaces the earlier one',
  ],
  'accepts the id of the active row': [
    driverInput('reserve', async (command, driver) => {
      const active = await driver.findActive(command)
      const isObjectId = active?.id === command.id && active.attemptId !== command.id
      return isObjectId ? { ...command, id: createAttemptId() } : command
    }),
    'reserve: refuses the id and the attemptId of the active row',
  ],
  'treats a null overwrite as false': [
    storeInput('reserve', (input) => (input?.overwrite === null ? { ...input, overwrite: false } : input)),
    'reserve: overwrites by default',
  ],
  'accepts an expiresAt that is the current time': [
    storeInput('reserve', (input, _store, { now }) => {
      const isNow = input?.expiresAt instanceof Date && input.expiresAt.getTime() === now().getTime()
      return isNow ? { ...input, expiresAt: new Date(now().getTime() + 1) } : input
    }),
    'reserve: requires expiresAt to be in the future',
  ],
  'refuses a repeated reserve of an expired attempt': [
    driverCall('reserve', async (command, driver) => {
      const pending = await driver.findPending({ ...command, uploadId: null })
      return pending && pending.expiresAt! <= command.now
        ? { outcome: 'key-conflict' }
        : driver.reserve(command)
    }),
    'reserve: returns the pending row of a repeat even after it has expired',
  ],
  'takes over an active key if its replacement has expired': [
    driverInput('reserve', async (command, driver) => {
      const pending = await driver.findPending({ ...command, id: null, uploadId: null })
      const isExpired = pending && pending.scope !== command.scope && pending.expiresAt! <= command.now
      if (isExpired) await driver.remove({ ...command, scope: null, attemptId: null, mode: 'hard' })
      return command
    }),
    'reserve: refuses a key that is active in another scope, even if its replacement has expired',
  ],
}
