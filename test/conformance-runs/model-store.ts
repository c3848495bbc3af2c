import { StorageError, type StorageObjectStore } from '@svc/db'
import type { Answer } from '../conformance/answer.js'
import { attemptIdOf } from '../conformance/attempt-ids.js'
import { ReferenceModel } from '../conformance/reference-model.js'

let madeIds = 0

/**
 * The reference model as a store: the least that passes the suite, without anything of the library but its error class.
 * It proves that the cases and the model say the same, each being written without the other.
 */
export function modelStore(now: () => Date): StorageObjectStore {
  const model = new ReferenceModel(now)
  let cursors = 0

  /** The value as a copy of its own, or the refusal as an error. */
  function told<T>(answer: Answer<T>): T {
    if ('ok' in answer) return structuredClone(answer.ok)
    const { error, params, fields } = answer
    throw new StorageError(error, { params: params ?? (fields && { field: fields[0]! }) })
  }

  return {
    async listByScope(input) {
      const page = told(model.listByScope(input))
      if (page.nextCursor === undefined) return page
      const nextCursor = `${++cursors}-${crypto.randomUUID()}`
      model.learnCursor(nextCursor, page.objects.at(-1)!.id)
      return { ...page, nextCursor }
    },
    countByScope: async (scope, status) => told(model.countByScope(scope, status)),
    getScopeUsage: async (scope) => told(model.getScopeUsage(scope)),
    find: async (reference) => told(model.find(reference)),
    findActive: async (reference) => told(model.findActive(reference)),
    findPending: async (input) => told(model.findPending(input)),
    findPendingMultipart: async (input) => told(model.findPendingMultipart(input)),
    async reserve(input) {
      // Later than any clock of the tests, so that they sort by their number alone.
      model.madeId = attemptIdOf(Date.UTC(2100, 0, 1), ++madeIds)
      return told(model.reserve(copyOf(input)))
    },
    confirm: async (input) => told(model.confirm(input)),
    setUploadId: async (input) => told(model.setUploadId(input)),
    release: async (input) => told(model.release(input)),
    remove: async (input) => told(model.remove(input)),
    listExpired: async (input) => told(model.listExpired(input)),
    purgeExpired: async (input) => told(model.purgeExpired(input)),
    listLeftovers: async (input) => told(model.listLeftovers(input)),
    forgetLeftover: async (input) => told(model.forgetLeftover(input)),
    purgeDeleted: async (input) => told(model.purgeDeleted(input)),
    migrate: async () => ({ from: 0, to: 0 }),
    verify: async () => [],
    checkUsage: async (scope) => checked(scope),
    repairUsage: async (scope) => checked(scope),
    ping: async () => {},
    close: async () => {},
  }

  /** It has no counters that could differ from the rows. */
  function checked(scope: string | null | undefined): [] {
    if (scope != null) told(model.getScopeUsage(scope))
    return []
  }
}

/** What is no good input is left for the model to refuse. */
function copyOf<T>(input: T): T {
  try {
    return structuredClone(input)
  } catch {
    return input
  }
}
