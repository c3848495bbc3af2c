import { StorageError } from '@svc/db'
import type { StorageObject } from '@svc/db'
import { SCRIPTS, overDriver, overStore, type Mutant } from './mutant.js'

/** How a store takes inputs and gives answers and errors. */
export const mannerMutants: readonly Mutant[] = [
  {
    it: 'answers the same row twice',
    createStore: overDriver((driver) => {
      const known = new Map<string, StorageObject>()
      return {
        async findActive(reference) {
          const row = await driver.findActive(reference)
          const name = JSON.stringify([row, reference.bucket, reference.key])
          if (row && !known.has(name)) known.set(name, row)
          return row && known.get(name)!
        },
        async find(reference) {
          return (await this.findActive!(reference)) ?? driver.find(reference)
        },
      }
    }),
    caughtBy: ['copies: are what every read answers'],
  },
  {
    it: 'keeps the metadata object of its input',
    createStore: overStore((store) => {
      const kept = new Map<string, StorageObject['metadata']>()
      return {
        async reserve(input) {
          const row = await store.reserve(input)
          kept.set(row.id, input.metadata ?? null)
          return row
        },
        async find(reference) {
          const row = await store.find(reference)
          return (
            row && { ...row, metadata: kept.has(row.attemptId) ? kept.get(row.attemptId)! : row.metadata }
          )
        },
      }
    }),
    caughtBy: ['copies: are what the store keeps of its input'],
  },
  {
    it: 'changes its input',
    createStore: overStore((store) => ({
      async reserve(input) {
        if (typeof input === 'object' && input !== null)
          Object.assign(input, { overwrite: input.overwrite ?? true })
        return store.reserve(input)
      },
    })),
    caughtBy: ['copies: are made without changing the input'],
  },
  {
    it: 'throws at once where an input is bad',
    createStore: overStore((store) => ({
      getScopeUsage(scope) {
        if (typeof scope !== 'string')
          throw new StorageError('VALIDATION_ERROR', { params: { field: 'scope' } })
        return store.getScopeUsage(scope)
      },
    })),
    caughtBy: ['validation: is told by a rejection, never thrown at once'],
  },
  {
    it: 'does not name the bad field',
    createStore: overStore((store) => ({
      confirm: (input) =>
        store.confirm(input).catch((error: unknown) => {
          const bad = error instanceof StorageError && error.code === 'VALIDATION_ERROR'
          throw bad ? new StorageError('VALIDATION_ERROR') : error
        }),
    })),
    caughtBy: ['validation: confirm names every field that is bad, and changes nothing', SCRIPTS.ofAnything],
  },
  {
    it: 'throws errors of its own kind',
    createStore: overStore((store) => ({
      reserve: (input) =>
        store.reserve(input).catch((error: Error & { code?: unknown }) => {
          throw Object.assign(new Error(error.message), { code: error.code })
        }),
    })),
    caughtBy: [
      'errors: are StorageErrors with a code, the status that follows from it, and a message',
      SCRIPTS.ofAnything,
    ],
  },
  {
    it: 'holds a limit back instead of refusing it',
    createStore: overStore((store) => ({
      listExpired: (input) => {
        const limit = input?.limit
        return store.listExpired(
          typeof limit === 'number' && limit > 1000 ? { ...input, limit: 1000 } : input,
        )
      },
    })),
    caughtBy: ['validation: listExpired names every field that is bad, and changes nothing'],
  },
  {
    it: 'takes NUL characters in metadata',
    createStore: overStore((store) => ({
      reserve(input) {
        const metadata = input?.metadata
        if (typeof metadata !== 'object' || !Object.values(metadata ?? {}).some((text) => text === 'a\0b')) {
          return store.reserve(input)
        }
        return store.reserve({ ...input, metadata: null })
      },
    })),
    caughtBy: ['validation: reserve names every field that is bad, and changes nothing'],
  },
  {
    it: 'counts UTF-16 units for characters',
    createStore: overStore((store) => ({
      async reserve(input) {
        if (typeof input?.route === 'string' && input.route.length > 255) {
          throw new StorageError('VALIDATION_ERROR', { params: { field: 'route' } })
        }
        return store.reserve(input)
      },
    })),
    caughtBy: ['strings: may be as long as their limits, in characters or in bytes'],
  },
  {
    it: 'takes ids in upper case',
    createStore: overStore((store) => ({
      forgetLeftover: (input) =>
        store.forgetLeftover(
          typeof input?.attemptId === 'string' ? { attemptId: input.attemptId.toLowerCase() } : input,
        ),
    })),
    caughtBy: ['validation: forgetLeftover names every field that is bad, and changes nothing'],
  },
  {
    it: 'does not take null for a field that is left out',
    createStore: overStore((store) => ({
      async remove(input) {
        if (input?.mode === null) throw new StorageError('VALIDATION_ERROR', { params: { field: 'mode' } })
        return store.remove(input)
      },
    })),
    caughtBy: ['validation: takes null in every optional field as if it were left out'],
  },
  {
    it: 'reports a difference of usage where there is none',
    createStore: overStore((store) => ({
      async checkUsage(scope) {
        if (scope != null) return store.checkUsage(scope)
        const { objects } = await store.listByScope({ scope: 'alice' })
        const usage = await store.getScopeUsage('alice')
        return objects.length > 1
          ? [{ scope: 'alice', recorded: usage, actual: usage }]
          : store.checkUsage(scope)
      },
    })),
    caughtBy: ['upkeep: checkUsage and repairUsage find nothing wrong after every kind of write'],
  },
]
