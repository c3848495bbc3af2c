import { StorageError, type StorageObject } from '../../src/adapter.js'
import { badValuesOf } from '../conformance/input-checks.js'
import { METHODS } from '../conformance/inputs.js'
import { callsOf, SCRIPTS, invalid, overDriver, overStore, type Mutant } from './mutant.js'

export const inputMutants: readonly Mutant[] = [
  {
    defect: 'returns the same row object twice',
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
    rejectedBy: ['copies: are returned by every read'],
  },
  {
    defect: 'keeps a reference to the metadata of its input',
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
    rejectedBy: ['copies: are kept of every input'],
  },
  {
    defect: 'modifies its input',
    createStore: overStore((store) => ({
      async reserve(input) {
        if (typeof input === 'object' && input !== null)
          Object.assign(input, { overwrite: input.overwrite ?? true })
        return store.reserve(input)
      },
    })),
    rejectedBy: ['copies: leave the input unchanged'],
  },
  {
    defect: 'throws synchronously for an invalid input',
    createStore: overStore((store) => ({
      getScopeUsage(scope) {
        if (typeof scope !== 'string')
          throw new StorageError('VALIDATION_ERROR', { params: { field: 'scope' } })
        return store.getScopeUsage(scope)
      },
    })),
    rejectedBy: ['validation: rejects the promise instead of throwing'],
  },
  {
    defect: 'throws errors that are not StorageErrors',
    createStore: overStore((store) => ({
      reserve: (input) =>
        store.reserve(input).catch((error: Error & { code?: unknown }) => {
          throw Object.assign(new Error(error.message), { code: error.code })
        }),
    })),
    rejectedBy: ['errors: are StorageErrors with a code, its status and a message', SCRIPTS.ofAnything],
  },
  {
    defect: 'clamps a limit instead of refusing it',
    createStore: overStore((store) => ({
      listExpired: (input) => {
        const limit = input?.limit
        return store.listExpired(
          typeof limit === 'number' && limit > 1000 ? { ...input, limit: 1000 } : input,
        )
      },
    })),
    rejectedBy: ['validation: listExpired names every invalid field, and changes nothing'],
  },
  {
    defect: 'accepts NUL characters in metadata',
    createStore: overStore((store) => ({
      reserve(input) {
        const metadata = input?.metadata
        if (typeof metadata !== 'object' || !Object.values(metadata ?? {}).some((text) => text === 'a\0b')) {
          return store.reserve(input)
        }
        return store.reserve({ ...input, metadata: null })
      },
    })),
    rejectedBy: ['validation: reserve names every invalid field, and changes nothing'],
  },
  {
    defect: 'measures strings in UTF-16 units',
    createStore: overStore((store) => ({
      async reserve(input) {
        if (typeof input?.route === 'string' && input.route.length > 255) {
          throw new StorageError('VALIDATION_ERROR', { params: { field: 'route' } })
        }
        return store.reserve(input)
      },
    })),
    rejectedBy: ['strings: may have their maximum length, in characters or in bytes'],
  },
  {
    defect: 'accepts upper-case ids',
    createStore: overStore((store) => ({
      forgetLeftover: (input) =>
        store.forgetLeftover(
          typeof input?.attemptId === 'string' ? { attemptId: input.attemptId.toLowerCase() } : input,
        ),
    })),
    rejectedBy: ['validation: forgetLeftover names every invalid field, and changes nothing'],
  },
  {
    defect: 'refuses null for an absent field',
    createStore: overStore((store) => ({
      async remove(input) {
        if (input?.mode === null) throw new StorageError('VALIDATION_ERROR', { params: { field: 'mode' } })
        return store.remove(input)
      },
    })),
    rejectedBy: ['validation: treats null in every optional field as absent'],
  },
  {
    defect: 'keeps the dates that its clock returns',
    createStore: overStore((store, { now }) => {
      const dates = new Map<string, Date>()
      return {
        async reserve(input) {
          const row = await store.reserve(input)
          dates.set(row.id, now())
          return row
        },
        async find(reference) {
          const row = await store.find(reference)
          const date = row?.status === 'pending' ? dates.get(row.id) : undefined
          return row && date ? { ...row, createdAt: new Date(date) } : row
        },
      }
    }),
    rejectedBy: ['copies: are kept of the dates of the clock'],
  },
  {
    defect: 'refuses unknown fields',
    createStore: overStore((store) => ({
      async reserve(input) {
        if (typeof input === 'object' && input !== null && 'surplus' in input) throw invalid('input')
        return store.reserve(input)
      },
    })),
    rejectedBy: ['validation: ignores unknown fields'],
  },
  {
    defect: "doesn't check the scope of repairUsage",
    createStore: overStore((store) => ({
      repairUsage: (scope) => store.repairUsage(scope).catch(() => []),
    })),
    rejectedBy: ['validation: checks the scope of checkUsage and repairUsage'],
  },
  {
    defect: 'accepts strings as inputs',
    createStore: overStore((store) => ({
      listExpired: (input) => store.listExpired(typeof input === 'string' ? {} : input),
    })),
    rejectedBy: ['validation: refuses inputs that are not objects'],
  },
  ...METHODS.filter((method) => badValuesOf(method).length > 0).map((method): Mutant => ({
    defect: `doesn't name the invalid field of ${method}`,
    createStore: overStore((store) => ({
      [method]: (...args: unknown[]) =>
        callsOf(store)[method]!(...args).catch((error: unknown) => {
          const isField = error instanceof StorageError && error.code === 'VALIDATION_ERROR'
          throw isField && error.params?.['field'] !== 'input' ? new StorageError('VALIDATION_ERROR') : error
        }),
    })),
    rejectedBy: [`validation: ${method} names every invalid field, and changes nothing`],
  })),
  {
    defect: 'returns the stored row from a confirm',
    createStore: overStore((store) => {
      const stored = new Map<string, StorageObject>()
      return {
        async confirm(input) {
          const row = await store.confirm(input)
          stored.set(row.key, row)
          return row
        },
        async find(reference) {
          const row = await store.find(reference)
          return row?.status === 'active' ? { ...row, eTag: stored.get(row.key)!.eTag } : row
        },
      }
    }),
    rejectedBy: ['copies: are returned by every write'],
  },
  {
    defect: 'ignores unknown fields of purges',
    createStore: overStore((store) => ({
      async purgeExpired(input) {
        const { scope, before, limit } = input ?? {}
        return store.purgeExpired(typeof input === 'object' ? { scope, before, limit } : input)
      },
      async purgeDeleted(input) {
        if (typeof input !== 'object' || input === null) throw invalid('input')
        const { scope, before, limit } = input
        return store.purgeDeleted({ scope, before, limit })
      },
    })),
    rejectedBy: ['validation: refuses unknown fields of purges, and purges nothing'],
  },
]
