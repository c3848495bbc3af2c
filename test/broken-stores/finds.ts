import { SCRIPTS, overDriver, overStore, type Mutant } from './mutant.js'

export const findMutants: readonly Mutant[] = [
  {
    defect: 'ignores the upload id of findPending',
    createStore: overDriver((driver) => ({
      findPending: (query) => driver.findPending({ ...query, uploadId: null }),
    })),
    rejectedBy: [
      'find calls: findPending returns only the attempt with the given id and upload id',
      SCRIPTS.aboutAttempts,
    ],
  },
  {
    defect: 'returns expired reservations from findPendingMultipart',
    createStore: overDriver((driver) => ({
      findPendingMultipart: (query) => driver.findPendingMultipart({ ...query, now: new Date(0) }),
    })),
    rejectedBy: ['find calls: findPendingMultipart ignores expired rows', SCRIPTS.aboutAttempts],
  },
  {
    defect: 'hides an object while its replacement is pending',
    createStore: overStore((store) => ({
      findActive: async (at) => ((await store.findPending(at)) ? null : store.findActive(at)),
    })),
    rejectedBy: ['find calls: findActive returns the active row or null', SCRIPTS.aboutRemoving],
  },
  {
    defect: 'finds the replacement instead of the object',
    createStore: overStore((store) => ({
      find: async (at) => (await store.findPending(at)) ?? store.find(at),
    })),
    rejectedBy: [
      'find calls: find returns the active row, else the pending row, else the newest deleted row, else null',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'finds no history',
    createStore: overStore((store) => ({
      find: async (at) => (await store.findActive(at)) ?? store.findPending(at),
    })),
    rejectedBy: [
      'find calls: find returns the active row, else the pending row, else the newest deleted row, else null',
      SCRIPTS.aboutRemoving,
    ],
  },
  {
    defect: 'returns the active row from findPending if nothing is pending',
    createStore: overStore((store) => ({
      findPending: async (input) =>
        (await store.findPending(input)) ?? (input.id == null ? store.findActive(input) : null),
    })),
    rejectedBy: ['find calls: findPending returns the pending row or null'],
  },
  {
    defect: 'hides expired reservations from findPending',
    createStore: overStore((store, { now }) => ({
      async findPending(input) {
        const row = await store.findPending(input)
        return row && row.expiresAt! > now() ? row : null
      },
    })),
    rejectedBy: ['find calls: findPending also returns expired reservations'],
  },
  {
    defect: "hides other scopes' objects from findActive",
    createStore: overStore((store) => ({
      async findActive(reference) {
        const row = await store.findActive(reference)
        return row?.scope === 'bob' ? null : row
      },
    })),
    rejectedBy: ['find calls: find and findActive return rows of any scope'],
  },
  {
    defect: 'ignores the size of findPendingMultipart',
    createStore: overStore((store) => ({
      async findPendingMultipart(input) {
        const pending = await store.findPending(input)
        return store.findPendingMultipart({ ...input, fileSize: pending?.declaredSize ?? input.fileSize })
      },
    })),
    rejectedBy: [
      'find calls: findPendingMultipart returns the pending row with an upload id and the given declared size',
    ],
  },
  {
    defect: 'returns rows without an upload id from findPendingMultipart',
    createStore: overStore((store) => ({
      async findPendingMultipart(input) {
        const pending = await store.findPending(input)
        const isPlain = pending?.uploadId === null && pending.declaredSize === input.fileSize
        return isPlain ? pending : store.findPendingMultipart(input)
      },
    })),
    rejectedBy: ['find calls: findPendingMultipart ignores rows without an upload id, and active rows'],
  },
  {
    defect: 'returns the last removed row from find',
    createStore: overStore((store) => ({
      async find(reference) {
        const row = await store.find(reference)
        if (row?.status !== 'deleted') return row
        const { objects } = await store.listByScope({ scope: row.scope, status: 'deleted' })
        return objects
          .filter(({ key }) => key === row.key)
          .reduce((last, each) => (each.deletedAt! > last.deletedAt! ? each : last), row)
      },
    })),
    rejectedBy: ['find calls: find returns the newest deleted row by id, not by date of removal'],
  },
  {
    defect: 'finds rows of any scope',
    createStore: overStore((store) => ({
      find: async (input) => store.find({ ...input, scope: null }),
      findActive: async (input) => store.findActive({ ...input, scope: null }),
      findPending: async (input) => store.findPending({ ...input, scope: null }),
    })),
    rejectedBy: ['find calls: find calls with a scope return a row only if it belongs to that scope'],
  },
]
