import {
  SCRIPTS,
  overStore,
  driverInput,
  storeCall,
  storeResult,
  storeInput,
  type Mutants,
} from './mutant.js'

export const findMutants: Mutants = {
  'ignores the upload id of findPending': [
    driverInput('findPending', (query) => ({ ...query, uploadId: null })),
    'find calls: findPending returns only the attempt with the given id and upload id',
    SCRIPTS.aboutAttempts,
  ],
  'returns expired reservations from findPendingMultipart': [
    driverInput('findPendingMultipart', (query) => ({ ...query, now: new Date(0) })),
    'find calls: findPendingMultipart ignores expired rows',
    SCRIPTS.aboutAttempts,
  ],
  'hides an object while its replacement is pending': [
    storeCall('findActive', async (at, store) =>
      (await store.findPending(at)) ? null : store.findActive(at),
    ),
    'find calls: findActive returns the active row or null',
    SCRIPTS.aboutRemoving,
  ],
  'finds the replacement instead of the object': [
    storeCall('find', async (at, store) => (await store.findPending(at)) ?? store.find(at)),
    'find calls: find returns the active row, else the pending row, else the newest deleted row, else null',
    SCRIPTS.aboutRemoving,
  ],
  'finds no history': [
    storeCall('find', async (at, store) => (await store.findActive(at)) ?? store.findPending(at)),
    'find calls: find returns the active row, else the pending row, else the newest deleted row, else null',
    SCRIPTS.aboutRemoving,
  ],
  'returns the active row from findPending if nothing is pending': [
    storeResult(
      'findPending',
      (result, input, store) => result ?? (input.id == null ? store.findActive(input) : null),
    ),
    'find calls: findPending returns the pending row or null',
  ],
  'hides expired reservations from findPending': [
    storeResult('findPending', (row, _input, _store, { now }) =>
      row && row.expiresAt! > now() ? row : null,
    ),
    'find calls: findPending also returns expired reservations',
  ],
  "hides other scopes' objects from findActive": [
    storeResult('findActive', (row) => (row?.scope === 'bob' ? null : row)),
    'find calls: find and findActive return rows of any scope',
  ],
  'ignores the size of findPendingMultipart': [
    storeInput('findPendingMultipart', async (input, store) => {
      const pending = await store.findPending(input)
      return { ...input, fileSize: pending?.declaredSize ?? input.fileSize }
    }),
    'find calls: findPendingMultipart returns the pending row with an upload id and the given declared size',
  ],
  'returns rows without an upload id from findPendingMultipart': [
    storeCall('findPendingMultipart', async (input, store) => {
      const pending = await store.findPending(input)
      const isPlain = pending?.uploadId === null && pending.declaredSize === input.fileSize
      return isPlain ? pending : store.findPendingMultipart(input)
    }),
    'find calls: findPendingMultipart ignores rows without an upload id, and active rows',
  ],
  'returns the last removed row from find': [
    storeResult('find', async (row, _reference, store) => {
      if (row?.status !== 'deleted') return row
      const { objects } = await store.listByScope({ scope: row.scope, status: 'deleted' })
      return objects
        .filter(({ key }) => key === row.key)
        .reduce((last, each) => (each.deletedAt! > last.deletedAt! ? each : last), row)
    }),
    'find calls: find returns the newest deleted row by id, not by date of removal',
  ],
  'finds rows of any scope': [
    overStore((store) => ({
      find: async (input) => store.find({ ...input, scope: null }),
      findActive: async (input) => store.findActive({ ...input, scope: null }),
      findPending: async (input) => store.findPending({ ...input, scope: null }),
    })),
    'find calls: find calls with a scope return a row only if it belongs to that scope',
  ],
}
