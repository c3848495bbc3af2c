import { createAttemptId } from '../../src/adapter.js'
import { EARLY_IDS, attemptIdOf } from '../conformance/attempt-ids.js'
import { SCRIPTS, isOverQuota, overDriver, overEveryRow, overStore, type Mutant } from './mutant.js'

/** The ids that a store makes are greater, those of the cases are less. */
const OWN_IDS = attemptIdOf(EARLY_IDS + 1, 0)

export const reserveMutants: readonly Mutant[] = [
  {
    defect: 'creates a new attempt for a repeated reserve',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const pending = await driver.findPending({ ...command, uploadId: null })
        if (pending?.scope === command.scope) await driver.release({ ...command, uploadId: null })
        return driver.reserve(command)
      },
    })),
    rejectedBy: [
      'reserve: returns the pending row unchanged if the same scope repeats its id',
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'checks the quota of a repeated reserve',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const pending = await driver.findPending({ ...command, uploadId: null })
        if (pending?.scope !== command.scope) return driver.reserve(command)
        const anew = await driver.reserve({
          ...command,
          key: `${command.key}!`,
          id: `${command.id.slice(0, -1)}f`,
        })
        await driver.release({ ...command, key: `${command.key}!`, id: null, scope: null, uploadId: null })
        return isOverQuota(anew) ? anew : driver.reserve(command)
      },
    })),
    rejectedBy: ['reserve: checks only the input before it returns the pending row of a repeat'],
  },
  {
    defect: 'lets any scope take a pending key',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const pending = await driver.findPending({ ...command, scope: null, id: null, uploadId: null })
        const active = await driver.findActive(command)
        if (pending && !active && pending.scope !== command.scope) {
          await driver.release({ ...command, id: null, scope: null, uploadId: null })
        }
        return driver.reserve(command)
      },
    })),
    rejectedBy: ['reserve: refuses a key that is live in another scope', SCRIPTS.ofAnything],
  },
  {
    defect: "refuses a key with another scope's expired reservation",
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const row = await driver.find(command)
        const foreign = row !== null && row.status !== 'deleted' && row.scope !== command.scope
        return foreign ? { outcome: 'key-conflict' } : driver.reserve(command)
      },
    })),
    rejectedBy: [
      "reserve: takes over a key that holds only another scope's expired reservation, and drops that reservation",
      SCRIPTS.aboutExpiry,
    ],
  },
  {
    defect: "refuses a key with another scope's history",
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const row = await driver.find(command)
        return row && row.scope !== command.scope && row.status === 'deleted'
          ? { outcome: 'key-conflict' }
          : driver.reserve(command)
      },
    })),
    rejectedBy: ["history: doesn't occupy the key: any scope may reserve it again", SCRIPTS.ofAnything],
  },
  {
    defect: "drops another scope's expired reservation even if it refuses the reserve",
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const { now, bucket, key } = command
        const expired = await driver.listExpired({ scope: null, before: now, limit: 1000, after: null })
        const foreign = expired.find(
          (row) => row.bucket === bucket && row.key === key && row.scope !== command.scope,
        )
        if (foreign && !(await driver.findActive(command))) {
          await driver.release({ ...foreign, uploadId: null, now })
        }
        return driver.reserve(command)
      },
    })),
    rejectedBy: [
      "reserve: keeps another scope's expired reservation if the reserve is refused",
      SCRIPTS.aboutExpiry,
    ],
  },
  {
    defect: 'accepts a storage key that is already used',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const result = await driver.reserve(command)
        if (result.outcome !== 'reused-storage-key') return result
        return driver.reserve({ ...command, storageKey: null })
      },
    })),
    rejectedBy: [
      'reserve: refuses the storage key of the active row and of the attempt it would displace',
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'ignores overwrite: false',
    createStore: overDriver((driver) => ({
      reserve: (command) => driver.reserve({ ...command, overwrite: true }),
    })),
    rejectedBy: ['reserve: refuses an active key if overwrite is false', SCRIPTS.ofAnything],
  },
  {
    defect: 'treats an absent overwrite as false',
    createStore: overStore((store) => ({
      reserve: (input) => store.reserve({ ...input, overwrite: input.overwrite ?? false }),
    })),
    rejectedBy: ['reserve: overwrites by default', SCRIPTS.ofAnything],
  },
  {
    defect: 'checks the quota before the owner of the key',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const { bytes, reservedBytes } = await driver.usage(command.scope)
        const used = bytes + reservedBytes
        const max = command.quota.maxBytes
        const result = await driver.reserve(command)
        if (result.outcome !== 'key-conflict' || max === null || used + command.declaredSize <= max)
          return result
        const excess = { max, used, reserved: reservedBytes, requested: command.declaredSize }
        return { outcome: 'maxBytes', ...excess }
      },
    })),
    rejectedBy: ['reserve: reports the first failed check in the order of the contract', SCRIPTS.ofAnything],
  },
  {
    defect: 'confirms a displaced attempt',
    createStore: overDriver((driver) => {
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
    rejectedBy: ['reserve: allows only the new attempt to be confirmed', SCRIPTS.ofAnything],
  },
  {
    defect: 'returns another attemptId if the caller chose the id',
    createStore: overEveryRow((row) =>
      row.id < OWN_IDS && row.id === row.attemptId ? { ...row, attemptId: `${row.id.slice(0, -1)}f` } : row,
    ),
    rejectedBy: ['reserve: uses the given id as the id and the attemptId of the row'],
  },
  {
    defect: 'keeps fields of a displaced attempt',
    createStore: overStore((store) => ({
      async reserve(input) {
        const pending = await store.findPending(input)
        const displaces = pending?.scope === input.scope && pending.id !== input.id
        return store.reserve(displaces ? { ...input, filename: input.filename ?? pending.filename } : input)
      },
    })),
    rejectedBy: ['reserve: creates a new attempt that displaces the earlier one'],
  },
  {
    defect: 'accepts the id of the active row',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const active = await driver.findActive(command)
        const isObjectId = active?.id === command.id && active.attemptId !== command.id
        return driver.reserve(isObjectId ? { ...command, id: createAttemptId() } : command)
      },
    })),
    rejectedBy: ['reserve: refuses the id and the attemptId of the active row'],
  },
  {
    defect: 'treats a null overwrite as false',
    createStore: overStore((store) => ({
      reserve: (input) => store.reserve(input?.overwrite === null ? { ...input, overwrite: false } : input),
    })),
    rejectedBy: ['reserve: overwrites by default'],
  },
  {
    defect: 'accepts an expiresAt that is the current time',
    createStore: overStore((store, { now }) => ({
      async reserve(input) {
        const isNow = input?.expiresAt instanceof Date && input.expiresAt.getTime() === now().getTime()
        return store.reserve(isNow ? { ...input, expiresAt: new Date(now().getTime() + 1) } : input)
      },
    })),
    rejectedBy: ['reserve: requires expiresAt to be in the future'],
  },
  {
    defect: 'refuses a repeated reserve of an expired attempt',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const pending = await driver.findPending({ ...command, uploadId: null })
        return pending && pending.expiresAt! <= command.now
          ? { outcome: 'key-conflict' }
          : driver.reserve(command)
      },
    })),
    rejectedBy: ['reserve: returns the pending row of a repeat even after it has expired'],
  },
  {
    defect: 'takes over an active key if its replacement has expired',
    createStore: overDriver((driver) => ({
      async reserve(command) {
        const pending = await driver.findPending({ ...command, id: null, uploadId: null })
        const isExpired = pending && pending.scope !== command.scope && pending.expiresAt! <= command.now
        if (isExpired) await driver.remove({ ...command, scope: null, attemptId: null, mode: 'hard' })
        return driver.reserve(command)
      },
    })),
    rejectedBy: [
      'reserve: refuses a key that is active in another scope, even if its replacement has expired',
    ],
  },
]
