import { StorageError, type StorageObject } from '../../src/adapter.js'
import { badValuesOf } from '../conformance/input-checks.js'
import { METHODS } from '../conformance/inputs.js'
import {
  callsOf,
  SCRIPTS,
  invalid,
  overDriver,
  overStore,
  storeInput,
  storeCall,
  type Mutants,
} from './mutant.js'
import { unknownFieldMutants } from './unknown-fields.js'

const unnamedFields: Mutants = Object.fromEntries(
  METHODS.filter((method) => badValuesOf(method).length > 0).map((method) => [
    `doesn't name the invalid field of ${method}`,
    [
      overStore((store) => ({
        [method]: (...args: unknown[]) =>
          callsOf(store)[method]!(...args).catch((error: unknown) => {
            const isField = error instanceof StorageError && error.code === 'VALIDATION_ERROR'
            throw isField && error.params?.['field'] !== 'input'
              ? new StorageError('VALIDATION_ERROR')
              : error
          }),
      })),
      `validation: ${method} names every invalid field, and changes nothing`,
    ],
  ]),
)

export const inputMutants: Mutants = {
  'returns the same row object twice': [
    overDriver((driver) => {
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
    'copies: are returned by every read',
  ],
  'keeps a reference to the metadata of its input': [
    overStore((store) => {
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
    'copies: are kept of every input',
  ],
  'modifies its input': [
    storeInput('reserve', (input) => {
      if (typeof input === 'object' && input !== null)
        Object.assign(input, { overwrite: input.overwrite ?? true })
      return input
    }),
    'copies: leave the input unchanged',
  ],
  'throws synchronously for an invalid input': [
    storeCall('getScopeUsage', (scope, store) => {
      if (typeof scope !== 'string') throw invalid('scope')
      return store.getScopeUsage(scope)
    }),
    'validation: rejects the promise instead of throwing',
  ],
  'throws errors without statusCode': [
    storeCall('reserve', (input, store) =>
      store.reserve(input).catch((error: StorageError) => {
        const { name, code, status, retryable, params } = error
        throw Object.assign(new Error(error.message), { name, code, status, retryable, params })
      }),
    ),
    'errors: are StorageErrors with a code, its status and a message',
  ],
  'throws errors that are not StorageErrors': [
    storeCall('reserve', (input, store) =>
      store.reserve(input).catch((error: Error & { code?: unknown }) => {
        throw Object.assign(new Error(error.message), { code: error.code })
      }),
    ),
    'errors: are StorageErrors with a code, its status and a message',
    SCRIPTS.ofAnything,
  ],
  'clamps a limit instead of refusing it': [
    storeInput('listExpired', (input) => {
      const limit = input?.limit
      return typeof limit === 'number' && limit > 1000 ? { ...input, limit: 1000 } : input
    }),
    'validation: listExpired names every invalid field, and changes nothing',
  ],
  'accepts NUL characters in metadata': [
    storeInput('reserve', (input) => {
      const metadata = input?.metadata
      if (typeof metadata !== 'object' || !Object.values(metadata ?? {}).some((text) => text === 'a\0b')) {
        return input
      }
      return { ...input, metadata: null }
    }),
    'validation: reserve names every invalid field, and changes nothing',
  ],
  'measures strings in UTF-16 units': [
    storeInput('reserve', (input) => {
      if (typeof input?.route === 'string' && input.route.length > 255) {
        throw new StorageError('VALIDATION_ERROR', { params: { field: 'route' } })
      }
      return input
    }),
    'strings: may have their maximum length, in characters or in bytes',
  ],
  'accepts upper-case ids': [
    storeInput('forgetLeftover', (input) =>
      typeof input?.attemptId === 'string' ? { attemptId: input.attemptId.toLowerCase() } : input,
    ),
    'validation: forgetLeftover names every invalid field, and changes nothing',
  ],
  'refuses null for an absent field': [
    storeInput('remove', (input) => {
      if (input?.mode === null) throw new StorageError('VALIDATION_ERROR', { params: { field: 'mode' } })
      return input
    }),
    'validation: treats null in every optional field as absent',
  ],
  'keeps the dates that its clock returns': [
    overStore((store, { now }) => {
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
    'copies: are kept of the dates of the clock',
  ],
  'refuses fields of a record that it does not store': [
    storeInput('reserve', (input) => {
      if (typeof input === 'object' && input !== null && 'createdAt' in input) throw invalid('createdAt')
      return input
    }),
    'validation: ignores other fields of a record',
    'validation: takes whole rows, their copies and what JSON makes of them',
  ],
  'refuses whole rows that were made from JSON': [
    storeInput('findById', (input) => {
      const { createdAt } = Object(input) as { readonly createdAt?: unknown }
      if (typeof createdAt === 'string') throw invalid('createdAt')
      return input
    }),
    'validation: takes whole rows, their copies and what JSON makes of them',
  ],
  ...unknownFieldMutants,
  "doesn't check the scope of repairUsage": [
    storeCall('repairUsage', (scope, store) => store.repairUsage(scope).catch(() => [])),
    'validation: checks the scope of checkUsage and repairUsage',
  ],
  'accepts strings as inputs': [
    storeInput('listExpired', (input) => (typeof input === 'string' ? {} : input)),
    'validation: refuses inputs that are not objects',
  ],
  ...unnamedFields,
  'returns the stored row from a confirm': [
    overStore((store) => {
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
    'copies: are returned by every write',
  ],
  'ignores fields of a record in purges': [
    overStore((store) => ({
      async purgeExpired(input) {
        if (typeof input !== 'object') return store.purgeExpired(input)
        return store.purgeExpired(withoutRecordFields(input))
      },
      async purgeDeleted(input) {
        if (typeof input !== 'object' || input === null) throw invalid('input')
        return store.purgeDeleted(withoutRecordFields(input))
      },
    })),
    'validation: refuses fields of a record that are no filter of a purge, and purges nothing',
  ],
  'purges all expired reservations for the id of one': [
    overStore((store) => ({
      async purgeExpired(input) {
        const isObject = typeof input === 'object' && input !== null
        return store.purgeExpired(isObject ? { ...input, ...{ id: undefined } } : input)
      },
    })),
    'validation: refuses fields of a record that are no filter of a purge, and purges nothing',
  ],
}

function withoutRecordFields<Input extends object>(input: Input): Input {
  const others = { bucket: undefined, key: undefined, status: undefined, route: undefined }
  return { ...input, ...others }
}
