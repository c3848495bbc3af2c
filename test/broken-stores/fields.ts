import type { StorageObjectStore } from '../../src/core/store/contract.js'
import { overStore, type Mutant } from './mutant.js'

type Method = keyof StorageObjectStore
type Calls = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>

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
  findById: ['scope', undefined],
  listScopes: ['after', undefined],
  listStored: ['prefix', undefined],
  listExpired: ['before', undefined],
  purgeExpired: ['before', undefined],
  listLeftovers: ['scope', undefined],
  deferLeftover: ['until', new Date('2030-01-01')],
  forgetLeftover: ['attemptId', '0199a000-0000-7000-8000-0000000000ff'],
  purgeDeleted: ['scope', undefined],
  claimEvents: ['claimSeconds', undefined],
  listEvents: ['after', undefined],
}

const EVENT_CALLS: readonly string[] = ['claimEvents', 'settleEvents', 'extendClaims', 'listEvents']
const titleOf = (method: string) =>
  `all fields${EVENT_CALLS.includes(method) ? ' of events' : ''}: have an effect on ${method}`

function ignoring(
  method: Method,
  field: string,
  replaced: (args: readonly unknown[]) => readonly unknown[],
): Mutant {
  return {
    defect: `ignores ${field} of ${method}`,
    createStore: overStore((store) => ({
      [method]: (...args: readonly unknown[]) => (store as unknown as Calls)[method]!(...replaced(args)),
    })),
    rejectedBy: [titleOf(method)],
  }
}

/** Stores that ignore a field of a call. */
export const fieldMutants: readonly Mutant[] = [
  ...Object.entries(IGNORED).map(([method, [field, value]]) =>
    ignoring(method as Method, field, ([input]) => [{ ...(input as object), [field]: value }]),
  ),
  ignoring('countByScope', 'status', ([scope]) => [scope]),
  ignoring('getScopeUsage', 'scope', () => ['alice']),
  ignoring('settleEvents', 'entries', () => [[]]),
  ignoring('extendClaims', 'options', ([entries]) => [entries]),
]
