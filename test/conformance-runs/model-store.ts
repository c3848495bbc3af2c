import { StorageError, type StorageObjectStore } from '@svc/db'
import { attemptIdOf } from '../conformance/attempt-ids.js'
import type { Expected } from '../conformance/outcome.js'
import { ReferenceModel } from '../conformance/reference-model.js'

let madeIds = 0

/**
 * Wraps the reference model as a store, with nothing from the library but its error class. Running the suite on it checks
 * that the cases and the model agree.
 */
export function modelStore(now: () => Date, events = false): StorageObjectStore {
  const model = new ReferenceModel(() => new Date(now()), events)
  let cursors = 0

  /** Returns a copy of the value, or throws the refusal. */
  function settle<T>(expected: Expected<T>): T {
    if ('ok' in expected) return structuredClone(expected.ok)
    const { error, params, fields } = expected
    throw new StorageError(error, { params: params ?? (fields && { field: fields[0]! }) })
  }

  return {
    async listByScope(input) {
      const page = settle(model.listByScope(input))
      if (page.nextCursor === undefined) return page
      const nextCursor = `${++cursors}-${crypto.randomUUID()}`
      model.learnCursor(nextCursor, page.objects.at(-1)!.id)
      return { ...page, nextCursor }
    },
    async *iterateByScope(input) {
      yield* settle(model.listByScope({ ...input, limit: 1000 })).objects
    },
    countByScope: async (scope, status) => settle(model.countByScope(scope, status)),
    getScopeUsage: async (scope) => settle(model.getScopeUsage(scope)),
    find: async (reference) => settle(model.find(reference)),
    findActive: async (reference) => settle(model.findActive(reference)),
    findPending: async (input) => settle(model.findPending(input)),
    findPendingMultipart: async (input) => settle(model.findPendingMultipart(input)),
    async reserve(input) {
      // Later than any clock of the tests, so these ids sort by their number.
      model.madeId = attemptIdOf(Date.UTC(2100, 0, 1), ++madeIds)
      return settle(model.reserve(copyOf(input)))
    },
    confirm: async (input) => settle(model.confirm(input)),
    setUploadId: async (input) => settle(model.setUploadId(input)),
    release: async (input) => settle(model.release(input)),
    remove: async (input) => settle(model.remove(input)),
    listExpired: async (input) => settle(model.listExpired(input)),
    purgeExpired: async (input) => settle(model.purgeExpired(input)),
    listLeftovers: async (input) => settle(model.listLeftovers(input)),
    deferLeftover: async (input) => settle(model.deferLeftover(input)),
    forgetLeftover: async (input) => settle(model.forgetLeftover(input)),
    purgeDeleted: async (input) => settle(model.purgeDeleted(input)),
    update: async (input) => settle(model.update(copyOf(input))),
    transfer: async (input) => settle(model.transfer(input)),
    async adopt(input) {
      const time = input?.createdAt instanceof Date ? input.createdAt.getTime() : 0
      model.madeId = attemptIdOf(Math.max(0, time || 0), ++madeIds)
      return settle(model.adopt(copyOf(input)))
    },
    keep: async (input) => settle(model.keep(input)),
    listTemporary: async (input) => settle(model.listTemporary(input)),
    endTemporary: async (input) => settle(model.endTemporary(input)),
    listArrived: async (input) => settle(model.listArrived(input)),
    reject: async (input) => settle(model.reject(input)),
    findById: async (input) => settle(model.findById(input)),
    listScopes: async (input) => settle(model.listScopes(input)),
    listStored: async (input) => settle(model.listStored(input)),
    claimEvents: async (input) => settle(model.claimEvents(input)),
    settleEvents: async (entries) => settle(model.settleEvents(entries)),
    extendClaims: async (entries, options) => settle(model.extendClaims(entries, options)),
    listEvents: async (input) => settle(model.listEvents(input)),
    countEvents: async () => settle(model.countEvents()),
    migrate: async () => ({ from: 0, to: 0 }),
    verify: async () => [],
    checkUsage: async (scope) => checked(scope),
    repairUsage: async (scope) => checked(scope),
    ping: async () => {},
    close: async () => {},
  }

  /** The model keeps no counters, so nothing can differ from its rows. */
  function checked(scope: string | null | undefined): [] {
    if (scope != null) settle(model.getScopeUsage(scope))
    return []
  }
}

/** Returns an input that can't be cloned as it is, for the model to refuse. */
function copyOf<T>(input: T): T {
  try {
    return structuredClone(input)
  } catch {
    return input
  }
}
