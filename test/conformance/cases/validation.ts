import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import type { CaseGroup } from '../case-group.js'
import type { Call, MethodName } from '../calls.js'
import type { Given } from '../given.js'
import { holds, refused, same } from '../assertions.js'
import { FIELDS, badValuesOf, fieldsOf, spoil } from '../bad-values.js'
import { askStore } from '../calls.js'
import { answerDifference } from '../difference.js'
import { Notation } from '../notation.js'

/** A good call of each kind. */
function goodCalls(given: Given): Record<MethodName, Call> {
  const { scope, at } = given
  const id = given.newId()
  return {
    listByScope: { method: 'listByScope', args: [{ scope }] },
    countByScope: { method: 'countByScope', args: [scope] },
    getScopeUsage: { method: 'getScopeUsage', args: [scope] },
    find: { method: 'find', args: [at] },
    findActive: { method: 'findActive', args: [at] },
    findPending: { method: 'findPending', args: [at] },
    findPendingMultipart: { method: 'findPendingMultipart', args: [{ ...at, fileSize: 1 }] },
    reserve: { method: 'reserve', args: [given.input()] },
    confirm: { method: 'confirm', args: [{ ...at, size: 1 }] },
    setUploadId: { method: 'setUploadId', args: [{ ...at, id, uploadId: 'upload' }] },
    release: { method: 'release', args: [at] },
    remove: { method: 'remove', args: [at] },
    listExpired: { method: 'listExpired', args: [{}] },
    purgeExpired: { method: 'purgeExpired', args: [{}] },
    listLeftovers: { method: 'listLeftovers', args: [{}] },
    forgetLeftover: { method: 'forgetLeftover', args: [{ attemptId: id }] },
    purgeDeleted: { method: 'purgeDeleted', args: [{ before: given.clock.now() }] },
  }
}

/** Rows that a bad call could do harm to. */
async function someRows(given: Given): Promise<void> {
  await given.history({ storageKey: 'history' })
  await given.activate({ storageKey: 'object' })
  await given.reserve({ storageKey: 'replacement' })
  await given.reserve({ key: 'lapsed', expiresAt: given.clock.in(1) })
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

const METHODS = Object.keys(FIELDS) as MethodName[]

/** For every field of the call's input and every bad value, that it is refused by its name; and that nothing happened. */
async function refusesBadFields(given: Given, method: MethodName): Promise<void> {
  await someRows(given)
  const before = await stateOf(given)
  const good = goodCalls(given)[method]
  const notation = new Notation()
  for (const field of fieldsOf(method)) {
    for (const value of badValuesOf(method, field)) {
      const bad = spoil(good, field, value)
      const found = answerDifference(
        { error: 'VALIDATION_ERROR', fields: [field] },
        await askStore(given.store, bad),
      )
      holds(found === null, `${method} with ${field}: ${notation.value(value)}: ${found}`)
    }
  }
  same(await stateOf(given), before, 'the state after the refused calls')
}

async function takesNullAsAbsent(given: Given, method: MethodName): Promise<void> {
  const good = goodCalls(given)[method]
  if (method === 'confirm' || method === 'setUploadId') await given.reserve({ id: given.newId() })
  const nulls = FIELDS[method].optional.reduce((call, field) => spoil(call, field, null), good)
  const answer = await askStore(given.store, nulls)
  const fine = 'ok' in answer || ('error' in answer && answer.error === 'OBJECT_NOT_FOUND')
  holds(fine, `${method} with null in every optional field came to ${new Notation().answer(answer)}`)
}

const takesObject = (method: MethodName) => method !== 'countByScope' && method !== 'getScopeUsage'

export const validationCases: CaseGroup = {
  title: 'validation',
  cases: {
    ...Object.fromEntries(
      METHODS.map((method) => [
        `${method} names every field that is bad, and changes nothing`,
        (given: Given) => refusesBadFields(given, method),
      ]),
    ),

    'takes null in every optional field as if it were left out': async (given) => {
      for (const method of METHODS) await takesNullAsAbsent(given, method)
    },

    'wants an object where a call takes one': async ({ store }) => {
      for (const method of METHODS.filter(takesObject)) {
        for (const input of [
          5,
          'text',
          true,
          ...(FIELDS[method].required.length > 0 ? [undefined, null] : []),
        ]) {
          const call = () =>
            (store as unknown as Record<string, (input: unknown) => Promise<unknown>>)[method]!(input)
          await refused(call, 'VALIDATION_ERROR', { field: 'input' })
        }
      }
    },

    'is told by a rejection, never thrown at once': async ({ store }) => {
      for (const method of METHODS) {
        const call = (store as unknown as Record<string, (input: unknown) => unknown>)[method]!
        let promise: unknown
        try {
          promise = call.call(store, Symbol('no input'))
        } catch (error) {
          holds(false, `${method} threw ${String(error)} at once`)
        }
        const then = (promise as { then?: unknown } | undefined)?.then
        holds(typeof then === 'function', `${method} did not return a promise`)
        await refused(() => promise as Promise<unknown>, 'VALIDATION_ERROR')
      }
    },

    'ignores fields that a call does not know': async (given) => {
      const surplus = { ...given.input(), surplus: 1, status: 'active', size: 5, createdAt: new Date(0) }
      const row = await given.store.reserve(surplus)
      same(
        [row.status, row.size, row.createdAt],
        ['pending', null, given.clock.now()],
        'status, size, createdAt',
      )
    },

    'checks the scope of checkUsage and repairUsage': async ({ store }) => {
      for (const call of ['checkUsage', 'repairUsage'] as const satisfies (keyof StorageObjectStore)[]) {
        for (const scope of ['', 'a\0', '\ud800', 's'.repeat(256)]) {
          await refused(() => store[call](scope), 'VALIDATION_ERROR', { field: 'scope' })
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
    'are StorageErrors with a code, the status that follows from it, and a message': async (given) => {
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
        holds(error instanceof Error, `expected ${code}, got no error`)
        const { name, code: actual, status, message } = error as Error & { code?: unknown; status?: unknown }
        same([name, actual, status], ['StorageError', code, STATUS_OF_CODE[code]], 'name, code and status')
        holds(message.length > 0, `${code} has no message`)
        holds(typeof error.stack === 'string', `${code} has no stack`)
      }
    },
  },
}
