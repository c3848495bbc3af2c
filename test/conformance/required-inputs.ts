import type { MethodName } from './calls.js'
import type { Given } from './given.js'

/** The required fields of each input, with valid values. */
export function requiredInputs(given: Given): Record<MethodName, object> {
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
    keep: { scope, objects: [{ id }] },
    listTemporary: {},
    endTemporary: { objects: [{ ...at, id, attemptId: id, temporaryUntil: given.clock.now() }] },
    listArrived: {},
    reject: { ...at, id },
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
export async function someRows(given: Given): Promise<void> {
  await given.history({ storageKey: 'history' })
  await given.activate({ storageKey: 'object' })
  await given.reserve({ storageKey: 'replacement' })
  await given.reserve({ key: 'expired', expiresAt: given.clock.in(1) })
  given.clock.advance(1)
}

export async function stateOf({ store, scope, at }: Given): Promise<unknown> {
  return [
    await store.listByScope({ scope }),
    await store.listByScope({ scope, status: 'deleted' }),
    await store.getScopeUsage(scope),
    await store.listExpired(),
    await store.listLeftovers(),
    await store.findPending(at),
  ]
}
