import {
  SCRIPTS,
  overChanges,
  overDriver,
  withActive,
  type Change,
  driverResult,
  driverCall,
  driverInput,
  type Mutants,
} from './mutant.js'

const isTransfer = ({ before, after }: Change) =>
  before.active !== null && after.active !== null && before.active.scope !== after.active.scope

/** Mutants of `transfer`. */
export const transferMutants: Mutants = {
  'changes the attempt of an object in a transfer': [
    driverResult('transfer', (result, command) =>
      result.outcome === 'transferred' &&
      result.row &&
      result.row.updatedAt.getTime() === command.now.getTime()
        ? { ...result, row: { ...result.row, filename: null } }
        : result,
    ),
    'transfer: gives the object to the other scope, and changes only scope and updatedAt',
  ],
  'keeps updatedAt in a transfer': [
    overChanges((change) =>
      isTransfer(change) ? withActive(change, { updatedAt: change.before.active!.updatedAt }) : change,
    ),
    'transfer: gives the object to the other scope, and changes only scope and updatedAt',
    SCRIPTS.aboutChanges,
  ],
  'charges a transfer to neither scope': [
    overDriver((driver) => {
      let moved = 0
      return {
        async transfer(command) {
          const result = await driver.transfer(command)
          if (
            result.outcome === 'transferred' &&
            result.row?.updatedAt.getTime() === command.now.getTime() &&
            command.from !== command.to
          )
            moved++
          return result
        },
        async usage(scope) {
          const usage = await driver.usage(scope)
          return { ...usage, files: Math.max(0, usage.files - moved) }
        },
      }
    }),
    'transfer: moves usage and counts',
    'transfer: ends a pending replacement as release does',
  ],
  'lets the old owner of an object reserve its key': [
    overDriver((driver) => {
      const owners = new Map<string, string>()
      return {
        async transfer(command) {
          const active = await driver.findActive({ ...command, scope: null })
          if (active) owners.set(command.key, active.scope)
          return driver.transfer(command)
        },
        async reserve(command) {
          const active = await driver.findActive({ ...command, scope: null })
          const isOld = active !== null && owners.get(command.key) === command.scope
          return driver.reserve(isOld ? { ...command, scope: active.scope } : command)
        },
      }
    }),
    'transfer: makes the new scope the owner of the key',
  ],
  'returns null to the repeat of a transfer': [
    driverCall('transfer', async (command, driver) => {
      const active = await driver.findActive({ ...command, scope: null })
      if (active && active.scope === command.to && command.from !== command.to)
        return { outcome: 'transferred', row: null, scopes: [] }
      return driver.transfer(command)
    }),
    'transfer: returns the row of the first call to a repeat after a lost response',
    'transfer: acts only on the attempt that it names',
  ],
  'ends the replacement when a transfer is repeated': [
    driverCall('transfer', async (command, driver) => {
      const active = await driver.findActive({ ...command, scope: null })
      const result = await driver.transfer(command)
      if (active && active.scope === command.to && command.from !== command.to)
        await driver.release({ ...command, id: null, scope: null, uploadId: null })
      return result
    }),
    'transfer: returns the row of the first call to a repeat after a lost response',
  ],
  'ends the replacement in a transfer to the same scope': [
    driverInput('transfer', async (command, driver) => {
      if (command.from === command.to)
        await driver.release({ ...command, id: null, scope: null, uploadId: null })
      return command
    }),
    'transfer: changes nothing if both scopes are the same',
  ],
  'transfers objects of any scope': [
    driverInput('transfer', async (command, driver) => {
      const active = await driver.findActive({ ...command, scope: null })
      return { ...command, from: active?.scope ?? command.from }
    }),
    'transfer: returns null if neither scope has an active row',
    'events of transfer: are recorded only if the scope changed',
  ],
  'ignores the attempt of a transfer': [
    driverInput('transfer', (command) => ({ ...command, attemptId: null })),
    'transfer: acts only on the attempt that it names',
    'events of transfer: are recorded only if the scope changed',
  ],
  'records no leftover of the replacement that a transfer ends': [
    overChanges((change) => (isTransfer(change) ? { ...change, leftovers: [] } : change)),
    'transfer: ends a pending replacement as release does',
    'transfer: ends an expired replacement too',
  ],
  'records the leftover of a transferred replacement for the new owner': [
    overChanges((change) =>
      isTransfer(change)
        ? {
            ...change,
            leftovers: change.leftovers.map((each) => ({ ...each, scope: change.after.active!.scope })),
          }
        : change,
    ),
    'transfer: ends a pending replacement as release does',
  ],
  'refuses to transfer an object with an expired replacement': [
    driverCall('transfer', async (command, driver) => {
      const pending = await driver.findPending({ ...command, scope: null, id: null, uploadId: null })
      const isExpired = pending !== null && pending.expiresAt! <= command.now
      return isExpired ? { outcome: 'transferred', row: null, scopes: [] } : driver.transfer(command)
    }),
    'transfer: ends an expired replacement too',
  ],
  'lists history of transferred keys for the new owner': [
    overDriver((driver) => {
      const moved = new Map<string, string>()
      return {
        async transfer(command) {
          const result = await driver.transfer(command)
          if (result.outcome === 'transferred' && result.row) moved.set(command.key, command.to)
          return result
        },
        async list(query) {
          const rows = await driver.list(query)
          return rows.filter(
            ({ status, key }) => status !== 'deleted' || (moved.get(key) ?? query.scope) === query.scope,
          )
        },
      }
    }),
    'transfer: leaves history with the old scope',
  ],
  'records leftovers of transferred objects without writableUntil of their upload': [
    overChanges((change) =>
      isTransfer(change) ? withActive(change, { writableUntil: change.row.updatedAt }) : change,
    ),
    'transfer: leaves a leftover of the new scope when the object is removed',
  ],
  'transfers an object only once': [
    overDriver((driver) => {
      const moved = new Set<string>()
      return {
        async transfer(command) {
          const result =
            moved.has(command.key) &&
            (await driver.findActive({ ...command, scope: null }))?.scope === command.from
              ? { outcome: 'transferred' as const, row: null, scopes: [] }
              : await driver.transfer(command)
          if (result.outcome === 'transferred' && result.row) moved.add(command.key)
          return result
        },
      }
    }),
    'transfer: returns an object to its first owner',
    'events of transfer: are recorded only if the scope changed',
  ],
}
