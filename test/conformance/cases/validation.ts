import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import type { MethodName } from '../calls.js'
import { holds, refused, refusedField, same } from '../assertions.js'
import { observeStore } from '../calls.js'
import { outcomeDifference } from '../difference.js'
import { badValuesOf, errorFieldsOf, hasRequiredFields, optionalFieldsOf } from '../input-checks.js'
import { METHODS, callWith, takesArguments } from '../inputs.js'
import { Notation } from '../notation.js'
import type { CaseGroup, Given } from '../given.js'

/** The required fields of each input, with valid values. */
function requiredInputs(given: Given): Record<MethodName, object> {
  const { scope, at } = given
  const id = given.newId()
  return {
    listByScope: { scope },
    countByScope: { scope },
    getScopeUsage: { scope },
    find: at,
    findActive: at,
    findPending: at,
    findPendingMultipart: { ...at, fileSize: 1 },
    reserve: given.input(),
    confirm: { ...at, size: 1 },
    setUploadId: { ...at, id, uploadId: 'upload' },
    release: at,
    remove: at,
    listExpired: {},
    purgeExpired: {},
    listLeftovers: {},
    forgetLeftover: { attemptId: id },
    deferLeftover: { attemptId: id, until: given.clock.now() },
    purgeDeleted: { before: given.clock.now() },
    update: { ...at, filename: 'name' },
    transfer: { ...at, from: scope, to: given.otherScope },
    adopt: { ...at, scope, storageKey: 'stored', size: 1, createdAt: given.clock.now() },
    findById: { id },
    listScopes: {},
    listStored: { bucket: at.bucket },
    claimEvents: at,
    settleEvents: { entries: [] },
    extendClaims: { entries: [] },
    listEvents: {},
    countEvents: {},
  }
}

/** Creates rows that an invalid call might change. */
async function someRows(given: Given): Promise<void> {
  await given.history({ storageKey: 'history' })
  await given.activate({ storageKey: 'object' })
  await given.reserve({ storageKey: 'replacement' })
  await given.reserve({ key: 'expired', expiresAt: given.clock.in(1) })
  given.clock.advance(1)
}

async function stateOf({ store, scope, at }: Given): Promise<unknown> {
  return [
    await store.listByScope({ scope }),
    await store.listByScope({ scope, status: 'deleted' }),
    await store.getScopeUsage(scope),
    await store.listExpired(),
    await store.listLeftovers(),
    await store.findPending(at),
  ]
}

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

    'ignores unknown fields': async (given) => {
      const surplus = { ...given.input(), surplus: 1, status: 'active', size: 5, createdAt: new Date(0) }
      const row = await given.store.reserve(surplus)
      same(
        [row.status, row.size, row.createdAt],
        ['pending', null, given.clock.now()],
        'status, size, createdAt',
      )
    },

    'refuses unknown fields of purges, and purges nothing': async (given) => {
      const { store, clock, scope } = given
      await someRows(given)
      const before = await stateOf(given)
      const surplus = { scopes: [scope], limits: 1, after: null, status: undefined }
      for (const [field, value] of Object.entries(surplus)) {
        const purges = [
          () => store.purgeExpired({ [field]: value }),
          () => store.purgeDeleted({ before: clock.now(), [field]: value }),
        ]
        for (const purge of purges) await refused(purge, 'VALIDATION_ERROR', { field })
      }
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
          message,
          stack,
        } = error as Error & { code?: unknown; status?: unknown }
        same([name, actual, status], ['StorageError', code, STATUS_OF_CODE[code]], 'name, code and status')
        holds(message.length > 0, `${code} has no message`)
        holds(typeof stack === 'string', `${code} has no stack`)
      }
    },
  },
}
