import type { StorageObjectStore } from '../../src/core/store/contract.js'
import type { StoredEvent } from '../../src/core/store/events.js'
import { callsOf, overStore, type Mutants } from './mutant.js'

type Method = keyof StorageObjectStore

/** For each call, a field of its input and what a store takes in its place. */
const IGNORED: { readonly [Name in Method]?: readonly [field: string, value: unknown] } = {
  listByScope: ['withMetadata', true],
  find: ['scope', undefined],
  findActive: ['scope', undefined],
  findPending: ['uploadId', undefined],
  findPendingMultipart: ['fileSize', 10],
  reserve: ['overwrite', true],
  confirm: ['contentType', undefined],
  setUploadId: ['uploadId', 'upload'],
  release: ['uploadId', undefined],
  remove: ['attemptId', undefined],
  update: ['attemptId', undefined],
  transfer: ['attemptId', undefined],
  adopt: ['eTag', undefined],
  listTemporary: ['before', undefined],
  endTemporary: ['mode', undefined],
  listArrived: ['dueBefore', undefined],
  reject: ['reason', undefined],
  findById: ['scope', undefined],
  listStored: ['bucket', 'bucket'],
  listExpired: ['before', undefined],
  purgeExpired: ['before', undefined],
  listLeftovers: ['scope', undefined],
  deferLeftover: ['until', new Date('2030-01-01')],
  forgetLeftover: ['attemptId', '0199a000-0000-7000-8000-0000000000ff'],
  purgeDeleted: ['scope', undefined],
}

const EVENT_CALLS: readonly string[] = ['claimEvents', 'settleEvents', 'extendClaims', 'listEvents']
const titleOf = (method: string) =>
  `all fields${EVENT_CALLS.includes(method) ? ' of events' : ''}: have an effect on ${method}`

type Arguments = readonly unknown[]

function ignoring(method: Method, field: string, replaced: (args: Arguments) => Arguments): Mutants {
  const broken = overStore((store) => ({
    [method]: (...args: Arguments) => callsOf(store)[method]!(...replaced(args)),
  }))
  return { [`ignores ${field} of ${method}`]: [broken, titleOf(method)] }
}

/** Takes an unknown scope for one that has objects. */
const known = (scope: unknown) => (scope === 'alice' || scope === 'bob' ? scope : 'alice')

const ignored = Object.entries(IGNORED).map(([method, [field, value]]) =>
  ignoring(method as Method, field, ([input]) => [{ ...(input as object), [field]: value }]),
)
const unlimited = (['listScopes', 'claimEvents', 'listEvents'] as const).map((method) =>
  ignoring(method, 'a limit of 1', ([input]) => {
    const { limit, ...fields } = { ...(input as { readonly limit?: number }) }
    return [{ ...fields, ...(limit !== 1 && { limit }) }]
  }),
)

/** Stores that ignore a field of a call. */
export const fieldMutants: Mutants = {
  ...Object.fromEntries([...ignored, ...unlimited].flatMap((each) => Object.entries(each))),
  ...ignoring('countByScope', 'scope', ([scope, status]) => [known(scope), status]),
  ...ignoring('getScopeUsage', 'scope', ([scope]) => [known(scope)]),
  ...ignoring('keep', 'scope', ([input]) => {
    const given = Object(input) as { readonly scope?: unknown }
    return [{ ...given, scope: known(given.scope) }]
  }),
  ...ignoring('extendClaims', 'options', ([entries]) => [entries]),
  'settles what was claimed last if it is to settle nothing': [
    overStore((store) => {
      let last: readonly StoredEvent[] = []
      return {
        claimEvents: async (input) => (last = await store.claimEvents(input)),
        settleEvents: (entries) => store.settleEvents(entries.length === 0 ? last : entries),
      }
    }),
    titleOf('settleEvents'),
  ],
}
