import { SCRIPTS, overChanges, overDriver, type Change, type Mutant } from './mutant.js'

const isTransfer = ({ before, after }: Change) =>
  before.active !== null && after.active !== null && before.active.scope !== after.active.scope

/** Mutants of `transfer`. */
export const transferMutants: readonly Mutant[] = [
  {
    defect: 'changes the attempt of an object in a transfer',
    createStore: overDriver((driver) => ({
      async transfer(command) {
        const result = await driver.transfer(command)
        return result.outcome === 'transferred' &&
          result.row &&
          result.row.updatedAt.getTime() === command.now.getTime()
          ? { ...result, row: { ...result.row, filename: null } }
          : result
      },
    })),
    rejectedBy: ['transfer: gives the object to the other scope, and changes only scope and updatedAt'],
  },
  {
    defect: 'keeps updatedAt in a transfer',
    createStore: overChanges((change) =>
      isTransfer(change)
        ? {
            ...change,
            after: {
              ...change.after,
              active: { ...change.after.active!, updatedAt: change.before.active!.updatedAt },
            },
          }
        : change,
    ),
    rejectedBy: [
      'transfer: gives the object to the other scope, and changes only scope and updatedAt',
      SCRIPTS.aboutChanges,
    ],
  },
  {
    defect: 'charges a transfer to neither scope',
    createStore: overDriver((driver) => {
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
    rejectedBy: ['transfer: moves usage and counts', 'transfer: ends a pending replacement as release does'],
  },
  {
    defect: 'lets the old owner of an object reserve its key',
    createStore: overDriver((driver) => {
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
    rejectedBy: ['transfer: makes the new scope the owner of the key'],
  },
  {
    defect: 'returns null to the repeat of a transfer',
    createStore: overDriver((driver) => ({
      async transfer(command) {
        const active = await driver.findActive({ ...command, scope: null })
        if (active && active.scope === command.to && command.from !== command.to)
          return { outcome: 'transferred', row: null, scopes: [] }
        return driver.transfer(command)
      },
    })),
    rejectedBy: [
      'transfer: returns the row of the first call to a repeat after a lost response',
      'transfer: acts only on the attempt that it names',
    ],
  },
  {
    defect: 'ends the replacement when a transfer is repeated',
    createStore: overDriver((driver) => ({
      async transfer(command) {
        const active = await driver.findActive({ ...command, scope: null })
        const result = await driver.transfer(command)
        if (active && active.scope === command.to && command.from !== command.to)
          await driver.release({ ...command, id: null, scope: null, uploadId: null })
        return result
      },
    })),
    rejectedBy: ['transfer: returns the row of the first call to a repeat after a lost response'],
  },
  {
    defect: 'ends the replacement in a transfer to the same scope',
    createStore: overDriver((driver) => ({
      async transfer(command) {
        if (command.from === command.to)
          await driver.release({ ...command, id: null, scope: null, uploadId: null })
        return driver.transfer(command)
      },
    })),
    rejectedBy: ['transfer: changes nothing if both scopes are the same'],
  },
  {
    defect: 'transfers objects of any scope',
    createStore: overDriver((driver) => ({
      async transfer(command) {
        const active = await driver.findActive({ ...command, scope: null })
        return driver.transfer({ ...command, from: active?.scope ?? command.from })
      },
    })),
    rejectedBy: [
      'transfer: returns null if neither scope has an active row',
      'events of transfer: are recorded only if the scope changed',
    ],
  },
  {
    defect: 'ignores the attempt of a transfer',
    createStore: overDriver((driver) => ({
      transfer: (command) => driver.transfer({ ...command, attemptId: null }),
    })),
    rejectedBy: [
      'transfer: acts only on the attempt that it names',
      'events of transfer: are recorded only if the scope changed',
    ],
  },
  {
    defect: 'records no leftover of the replacement that a transfer ends',
    createStore: overChanges((change) => (isTransfer(change) ? { ...change, leftovers: [] } : change)),
    rejectedBy: [
      'transfer: ends a pending replacement as release does',
      'transfer: ends an expired replacement too',
    ],
  },
  {
    defect: 'records the leftover of a transferred replacement for the new owner',
    createStore: overChanges((change) =>
      isTransfer(change)
        ? {
            ...change,
            leftovers: change.leftovers.map((each) => ({ ...each, scope: change.after.active!.scope })),
          }
        : change,
    ),
    rejectedBy: ['transfer: ends a pending replacement as release does'],
  },
  {
    defect: 'refuses to transfer an object with an expired replacement',
    createStore: overDriver((driver) => ({
      async transfer(command) {
        const pending = await driver.findPending({ ...command, scope: null, id: null, uploadId: null })
        const isExpired = pending !== null && pending.expiresAt! <= command.now
        return isExpired ? { outcome: 'transferred', row: null, scopes: [] } : driver.transfer(command)
      },
    })),
    rejectedBy: ['transfer: ends an expired replacement too'],
  },
  {
    defect: 'lists history of transferred keys for the new owner',
    createStore: overDriver((driver) => {
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
    rejectedBy: ['transfer: leaves history with the old scope'],
  },
  {
    defect: 'records leftovers of transferred objects without writableUntil of their upload',
    createStore: overChanges((change) =>
      isTransfer(change)
        ? {
            ...change,
            after: {
              ...change.after,
              active: { ...change.after.active!, writableUntil: change.row.updatedAt },
            },
          }
        : change,
    ),
    rejectedBy: ['transfer: leaves a leftover of the new scope when the object is removed'],
  },
  {
    defect: 'transfers an object only once',
    createStore: overDriver((driver) => {
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
    rejectedBy: [
      'transfer: returns an object to its first owner',
      'events of transfer: are recorded only if the scope changed',
    ],
  },
]
