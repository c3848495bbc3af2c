import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import type { Quota, StorageObject } from '../../../src/core/store/records.js'
import { holds, refused, refusedField, same } from '../assertions.js'
import { callStore, observeStore, type Call, type MethodName } from '../calls.js'
import { outcomeDifference } from '../difference.js'
import { badValuesOf, errorFieldsOf, hasRequiredFields, optionalFieldsOf } from '../input-checks.js'
import { METHODS, callWith, takesArguments } from '../inputs.js'
import { Notation } from '../notation.js'
import { requiredInputs, someRows, stateOf } from '../required-inputs.js'
import { unknownNamesOf, withOwnField } from '../unknown-fields.js'
import type { CaseGroup, Given } from '../given.js'

/** Checks that every invalid value of every field is refused with the name of the field, and that nothing changes. */
async function refusesBadFields(given: Given, method: MethodName): Promise<void> {
  await someRows(given)
  const before = await stateOf(given)
  const input = requiredInputs(given)[method]
  const notation = new Notation()
  for (const [field, values] of badValuesOf(method)) {
    for (const value of values) {
      const bad = callWith(method, { ...input, [field]: value })
      const found = outcomeDifference(
        { error: 'VALIDATION_ERROR', fields: errorFieldsOf(method, field, value) },
        await observeStore(given.store, bad),
      )
      holds(found === null, `${method} with ${field}: ${notation.value(value)}: ${found}`)
    }
  }
  same(await stateOf(given), before, 'the state after the refused calls')
}

async function takesNullAsAbsent(given: Given, method: MethodName): Promise<void> {
  const input = requiredInputs(given)[method]
  if (method === 'confirm' || method === 'setUploadId') await given.reserve({ id: given.newId() })
  const nulls = Object.fromEntries(optionalFieldsOf(method).map((field) => [field, null]))
  const outcome = await observeStore(given.store, callWith(method, { ...input, ...nulls }))
  const isAccepted = 'ok' in outcome || ('error' in outcome && outcome.error === 'OBJECT_NOT_FOUND')
  holds(isAccepted, `${method} with null in every optional field: got ${new Notation().outcome(outcome)}`)
}

/** Returns why the store refused the input of a call, or `null` if it did not. */
async function refusalOf(store: StorageObjectStore, call: Call): Promise<string | null> {
  const outcome = await observeStore(store, call)
  const isRefused = 'crash' in outcome || ('error' in outcome && outcome.error === 'VALIDATION_ERROR')
  return isRefused ? `got ${new Notation().outcome(outcome)}` : null
}

export const validationCases: CaseGroup = {
  title: 'validation',
  cases: {
    ...Object.fromEntries(
      METHODS.filter((method) => badValuesOf(method).length > 0).map((method) => [
        `${method} names every invalid field, and changes nothing`,
        (given: Given) => refusesBadFields(given, method),
      ]),
    ),

    'treats null in every optional field as absent': async (given) => {
      for (const method of METHODS) await takesNullAsAbsent(given, method)
    },

    'refuses inputs that are not objects': async ({ store }) => {
      for (const method of METHODS.filter((method) => !takesArguments(method))) {
        for (const input of [5, 'text', true, ...(hasRequiredFields(method) ? [undefined, null] : [])]) {
          const call = () =>
            (store as unknown as Record<string, (input: unknown) => Promise<unknown>>)[method]!(input)
          await refused(call, 'VALIDATION_ERROR', { field: 'input' })
        }
      }
    },

    'rejects the promise instead of throwing': async ({ store }) => {
      for (const method of METHODS.filter((method) => method !== 'countEvents')) {
        const call = (store as unknown as Record<string, (input: unknown) => unknown>)[method]!
        let promise: unknown
        try {
          promise = call.call(store, Symbol('no input'))
        } catch (error) {
          holds(false, `${method} threw ${String(error)} instead of rejecting`)
        }
        const then = (promise as { then?: unknown } | undefined)?.then
        holds(typeof then === 'function', `${method} did not return a promise`)
        await refused(() => promise as Promise<unknown>, 'VALIDATION_ERROR')
      }
    },

    'refuses unknown fields, whatever they are called, and changes nothing': async (given) => {
      await someRows(given)
      const before = await stateOf(given)
      for (const method of METHODS.filter((method) => !takesArguments(method))) {
        const input = requiredInputs(given)[method]
        for (const name of unknownNamesOf(method)) {
          const call = callWith(method, withOwnField(input, name, given.otherScope))
          await refused(() => callStore(given.store, call), 'VALIDATION_ERROR', { field: name })
        }
      }
      same(await stateOf(given), before, 'the state after the refused calls')
    },

    'refuses unknown limits of a quota': async (given) => {
      const { store, at, scope, otherScope } = given
      const quota = { maxByte: 1 } as Quota
      await given.activate({ key: 'object' })
      const calls = [
        () => given.reserve({ quota }),
        () => store.confirm({ ...at, size: 1, quota }),
        () => store.transfer({ ...at, key: 'object', from: scope, to: otherScope, quota }),
      ]
      for (const call of calls) await refused(call, 'VALIDATION_ERROR', { field: 'quota.maxByte' })
      same(await store.countByScope(scope), 1, 'rows of the scope')
    },

    'treats unknown fields without a value as absent': async (given) => {
      for (const method of METHODS.filter((method) => !takesArguments(method))) {
        for (const value of [null, undefined]) {
          const input = { ...requiredInputs(given)[method], surplus: value }
          const refusal = await refusalOf(given.store, callWith(method, input))
          holds(refusal === null, `${method} with surplus: ${String(value)}: ${refusal}`)
        }
      }
    },

    'takes whole rows, their copies and what JSON makes of them': async (given) => {
      const { store, at } = given
      await given.activate({ storageKey: 'object', metadata: { a: '1' } })
      await given.reserve({ key: 'other', storageKey: 'other' })
      const rows = [await store.findActive(at), await store.findPending({ ...at, key: 'other' })]
      for (const row of rows) {
        const wholes = [row!, structuredClone(row!), JSON.parse(JSON.stringify(row)) as StorageObject]
        for (const whole of wholes) {
          for (const method of METHODS.filter((method) => !takesArguments(method))) {
            const input = { ...whole, ...requiredInputs(given)[method] }
            // Those of the row are taken.
            const ids = method === 'reserve' && { id: given.newId(), storageKey: null }
            const call = callWith(method, { ...input, ...ids })
            const refusal = await refusalOf(store, call)
            holds(refusal === null, `${method} with a whole row: ${refusal}`)
          }
        }
      }
    },

    'ignores other fields of a record': async (given) => {
      const surplus = { ...given.input(), status: 'active', size: 5, createdAt: new Date(0) }
      const row = await given.store.reserve(surplus)
      same(
        [row.status, row.size, row.createdAt],
        ['pending', null, given.clock.now()],
        'status, size, createdAt',
      )
    },

    'refuses fields of a record that are no filter of a purge, and purges nothing': async (given) => {
      const { store, clock, at } = given
      await someRows(given)
      const before = await stateOf(given)
      for (const [field, value] of Object.entries({ ...at, status: 'deleted', route: 'route' })) {
        const purges = [
          () => store.purgeExpired({ [field]: value }),
          () => store.purgeDeleted({ before: clock.now(), [field]: value }),
        ]
        for (const purge of purges) await refused(purge, 'VALIDATION_ERROR', { field })
      }
      // It would purge every scope.
      const ofOne = { ['id' as string]: given.newId() }
      await refused(() => store.purgeExpired(ofOne), 'VALIDATION_ERROR', { field: 'id' })
      same(await stateOf(given), before, 'the state after the refused calls')
    },

    'checks the scope of checkUsage and repairUsage': async ({ store }) => {
      for (const call of ['checkUsage', 'repairUsage'] as const satisfies (keyof StorageObjectStore)[]) {
        for (const scope of ['', 'a\0', '\ud800', 's'.repeat(256)]) {
          await refusedField(() => store[call](scope), 'scope')
        }
        same(await store[call](null), [], `${call} of all scopes`)
      }
    },
  },
}

const STATUS_OF_CODE: Record<string, number> = {
  VALIDATION_ERROR: 400,
  INVALID_CURSOR: 400,
  OBJECT_NOT_FOUND: 404,
  KEY_CONFLICT: 409,
  QUOTA_EXCEEDED: 413,
}

export const errorCases: CaseGroup = {
  title: 'errors',
  cases: {
    'are StorageErrors with a code, its status and a message': async (given) => {
      const { store, at, scope } = given
      await given.activate()
      const refusals: [string, () => Promise<unknown>][] = [
        ['VALIDATION_ERROR', () => given.reserve({ declaredSize: -1 })],
        ['INVALID_CURSOR', () => store.listByScope({ scope, cursor: 'nonsense' })],
        ['OBJECT_NOT_FOUND', () => given.confirm({ key: 'another' })],
        ['OBJECT_NOT_FOUND', () => store.setUploadId({ ...at, id: given.newId(), uploadId: 'upload' })],
        ['KEY_CONFLICT', () => given.reserve({ scope: given.otherScope })],
        ['KEY_CONFLICT', () => given.reserve({ overwrite: false })],
        ['QUOTA_EXCEEDED', () => given.reserve({ key: 'another', quota: { maxFiles: 1 } })],
      ]
      for (const [code, call] of refusals) {
        const error: unknown = await call().then(
          () => null,
          (thrown: unknown) => thrown,
        )
        holds(error !== null, `expected ${code}, got no error`)
        const {
          name,
          code: actual,
          status,
          statusCode,
          message,
          stack,
        } = error as Error & Partial<Record<'code' | 'status' | 'statusCode', unknown>>
        same([name, actual, status], ['StorageError', code, STATUS_OF_CODE[code]], 'name, code and status')
        same(statusCode, status, 'statusCode')
        holds(message.length > 0, `${code} has no message`)
        holds(typeof stack === 'string', `${code} has no stack`)
      }
    },
  },
}
