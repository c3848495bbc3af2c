import { StorageError, type ObjectStatus, type StorageObject } from '../../src/adapter.js'
import { encodeCursor } from '../../src/core/store/cursor.js'
import { EARLY_IDS, LATE_IDS, attemptIdOf } from '../conformance/attempt-ids.js'
import { SCRIPTS, invalid, overDriver, overReplacements, overStore, type Mutant } from './mutant.js'

const byId = (a: StorageObject, b: StorageObject) => (a.id < b.id ? 1 : -1)

export const listingMutants: readonly Mutant[] = [
  {
    defect: 'ignores the scope of a list',
    createStore: overDriver((driver) => {
      const scopes = new Set<string>()
      return {
        async reserve(command) {
          scopes.add(command.scope)
          return driver.reserve(command)
        },
        async list(query) {
          const lists = await Promise.all([...scopes].map((scope) => driver.list({ ...query, scope })))
          return lists.flat().sort(byId).slice(0, query.limit)
        },
      }
    }),
    rejectedBy: ['listByScope: returns only rows of the scope', SCRIPTS.ofAnything],
  },
  {
    defect: 'loses the last row of every page but the last',
    createStore: overStore((store) => ({
      async listByScope(input) {
        const page = await store.listByScope(input)
        return page.nextCursor === undefined ? page : { ...page, objects: page.objects.slice(0, -1) }
      },
    })),
    rejectedBy: [
      'listByScope: pages through every row exactly once, with a cursor only if there is another page',
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'returns no cursor although there is another page',
    createStore: overDriver((driver) => ({
      list: (query) => driver.list({ ...query, limit: query.limit - 1 || 1 }),
    })),
    rejectedBy: ['listByScope: returns 100 rows by default', SCRIPTS.ofAnything],
  },
  {
    defect: 'returns a cursor with a full last page',
    createStore: overStore((store) => ({
      async listByScope(input) {
        const page = await store.listByScope(input)
        const full = page.objects.length === (input.limit ?? 100)
        return full ? { nextCursor: encodeCursor(page.objects.at(-1)!.id), ...page } : page
      },
    })),
    rejectedBy: [
      'listByScope: pages through every row exactly once, with a cursor only if there is another page',
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'repeats the row of a cursor',
    createStore: overDriver((driver) => ({
      list: (query) => driver.list({ ...query, before: query.before && `${query.before}~` }),
    })),
    rejectedBy: [
      'listByScope: pages through every row exactly once, with a cursor only if there is another page',
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'lists the oldest rows first',
    createStore: overStore((store) => ({
      async listByScope(input) {
        const page = await store.listByScope(input)
        return { ...page, objects: page.objects.toReversed() }
      },
    })),
    rejectedBy: ['listByScope: returns the newest rows first, for every status', SCRIPTS.ofAnything],
  },
  {
    defect: 'lists the last updated rows first',
    createStore: withOwnOrder((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime() || byId(a, b)),
    rejectedBy: [SCRIPTS.ofAnything],
  },
  {
    defect: 'sorts lists by createdAt before id',
    createStore: withOwnOrder((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || byId(a, b)),
    rejectedBy: [SCRIPTS.ofAnything],
  },
  {
    defect: 'lists deleted rows by default',
    createStore: overDriver((driver) => ({
      list: (query) =>
        driver.list(
          query.statuses.length > 1 ? { ...query, statuses: ['pending', 'active', 'deleted'] } : query,
        ),
    })),
    rejectedBy: [
      'listByScope: returns pending and active rows of all buckets by default',
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'filters routes by prefix',
    createStore: overStore((store) => ({
      async listByScope({ route, ...input }) {
        if (route == null) return store.listByScope(input)
        const { objects } = await store.listByScope({ ...input, limit: 1000 })
        return { objects: objects.filter((row) => row.route?.startsWith(route)) }
      },
    })),
    rejectedBy: [
      'listByScope: filters by the exact name of a route',
      'strings: are compared byte for byte as routes, uploads and eTags',
    ],
  },
  {
    defect: 'counts a replacement in progress as one row',
    createStore: overStore((store) => ({
      async countByScope(scope, status) {
        if (status != null) return store.countByScope(scope, status)
        const { files, reservedFiles } = await store.getScopeUsage(scope)
        return files + reservedFiles
      },
    })),
    rejectedBy: [
      'countByScope: counts a replacement in progress as two rows, and as one after its confirm',
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'counts at most one page',
    createStore: overStore((store) => ({
      countByScope: async (scope, status) =>
        (await store.listByScope({ scope, status, limit: 2 })).objects.length,
    })),
    rejectedBy: [
      'countByScope: counts pending and active rows by default, and the rows of one status',
      SCRIPTS.ofAnything,
    ],
  },
  {
    defect: 'lists 50 rows by default',
    createStore: overStore((store) => ({
      listByScope: (input) => store.listByScope({ ...input, limit: input.limit ?? 50 }),
    })),
    rejectedBy: ['listByScope: returns 100 rows by default'],
  },
  {
    defect: 'returns an undefined cursor with an empty page',
    createStore: overStore((store) => ({
      async listByScope(input) {
        const page = await store.listByScope(input)
        return page.objects.length > 0 ? page : ({ ...page, nextCursor: undefined } as unknown as typeof page)
      },
    })),
    rejectedBy: ['listByScope: returns an empty page without a cursor for an unknown scope'],
  },
  {
    defect: 'hides expired reservations from lists',
    createStore: overStore((store, { now }) => ({
      async listByScope(input) {
        const page = await store.listByScope(input)
        return { ...page, objects: page.objects.filter((row) => !(row.expiresAt && row.expiresAt <= now())) }
      },
    })),
    rejectedBy: ['listByScope: includes expired reservations in the pending rows'],
  },
  {
    defect: 'lists pending rows as active',
    createStore: overStatuses('active', ['pending', 'active']),
    rejectedBy: ['listByScope: filters by status'],
  },
  {
    defect: 'lists removed objects as active',
    createStore: overStatuses('active', ['active', 'deleted']),
    rejectedBy: ["listByScope: doesn't return a row under its previous status after a change"],
  },
  {
    defect: 'lists rows that were deleted in the same millisecond oldest first',
    createStore: withOwnOrder((a, b) =>
      a.deletedAt && a.deletedAt.getTime() === b.deletedAt?.getTime() ? -byId(a, b) : byId(a, b),
    ),
    rejectedBy: [
      'listByScope: returns the newest rows first, for every status',
      'history: is dropped in order of id if purgeDeleted has a limit and all rows were deleted in the same millisecond',
    ],
  },
  {
    defect: 'hides a replacement in progress from lists',
    createStore: overDriver((driver) => ({
      async list(query) {
        const rows = await driver.list(query)
        const isActive = (row: StorageObject) =>
          rows.some(({ status, key }) => status === 'active' && key === row.key)
        return rows.filter((row) => row.status !== 'pending' || !isActive(row))
      },
    })),
    rejectedBy: ['listByScope: returns both rows of a replacement in progress'],
  },
  {
    defect: 'keeps the route of a replaced object',
    createStore: overReplacements((active, replaced) => ({ ...active, route: replaced.route })),
    rejectedBy: ['listByScope: moves an object to the route of its replacement'],
  },
  {
    defect: 'refuses a limit of 1000',
    createStore: overStore((store) => ({
      async listByScope(input) {
        if (input.limit === 1000) throw invalid('limit')
        return store.listByScope(input)
      },
    })),
    rejectedBy: ['listByScope: accepts limits from 1 to 1000'],
  },
  {
    defect: 'returns no cursor with the pages of a route',
    createStore: overStore((store) => ({
      async listByScope(input) {
        const page = await store.listByScope(input)
        return input.route == null ? page : { objects: page.objects }
      },
    })),
    rejectedBy: ['listByScope: pages through every row exactly once with every filter'],
  },
  {
    defect: 'lists pending rows before active rows in long lists',
    createStore: overDriver((driver) => ({
      async list(query) {
        const rows = await driver.list(query)
        const isPending = ({ status }: StorageObject) => Number(status === 'pending')
        return rows.length > 6 ? rows.sort((a, b) => isPending(b) - isPending(a)) : rows
      },
    })),
    rejectedBy: ['listByScope: merges pending and active rows in order of creation'],
  },
  {
    defect: 'lists ids that it made before ids that it was given',
    createStore: withOwnOrder((a, b) => Number(isNew(b)) - Number(isNew(a)) || byId(a, b)),
    rejectedBy: ['records: sorts rows by id, even if another clock made the ids'],
  },
  {
    defect: 'refuses to count the pending rows of an unknown scope',
    createStore: overStore((store) => {
      const scopes = new Set<string>()
      return {
        async reserve(input) {
          scopes.add(input?.scope)
          return store.reserve(input)
        },
        async countByScope(scope, status) {
          const count = await store.countByScope(scope, status)
          if (status === 'pending' && !scopes.has(scope)) throw new StorageError('OBJECT_NOT_FOUND')
          return count
        },
      }
    }),
    rejectedBy: ['countByScope: is 0 for an unknown scope'],
  },
  {
    defect: 'returns the metadata of deleted rows, even if it is not asked to',
    createStore: overDriver((driver) => ({
      list: (query) =>
        driver.list({ ...query, withMetadata: query.withMetadata || query.statuses.includes('deleted') }),
    })),
    rejectedBy: [
      'listByScope: returns rows without metadata if asked to, with a cursor that works either way',
    ],
  },
  {
    defect: 'lists from the primary as it was before the last page',
    createStore: overDriver((driver) => {
      let last: StorageObject[] = []
      return {
        async list(query) {
          const rows = await driver.list(query)
          if (!query.fromPrimary) return rows
          const outdated = last
          last = rows
          return outdated
        },
      }
    }),
    rejectedBy: ['listByScope: returns every acknowledged write from the primary'],
  },
  {
    defect: 'lists metadata that it was asked to leave out',
    createStore: overDriver((driver) => ({
      list: (query) => driver.list({ ...query, withMetadata: true }),
    })),
    rejectedBy: [
      'listByScope: returns rows without metadata if asked to, with a cursor that works either way',
      SCRIPTS.ofAnything,
    ],
  },
]

function withOwnOrder(order: (a: StorageObject, b: StorageObject) => number): Mutant['createStore'] {
  return overDriver((driver) => ({
    async list(query) {
      const rows = (await driver.list({ ...query, before: null, limit: 1000 })).sort(order)
      const start = query.before === null ? 0 : rows.findIndex(({ id }) => id === query.before) + 1
      return rows.slice(start, start + query.limit)
    },
  }))
}

function overStatuses(of: ObjectStatus, statuses: readonly ObjectStatus[]): Mutant['createStore'] {
  return overDriver((driver) => ({
    list: (query) => driver.list(query.statuses.join() === of ? { ...query, statuses } : query),
  }))
}

function isNew({ id }: StorageObject): boolean {
  return id > attemptIdOf(EARLY_IDS + 1, 0) && id < attemptIdOf(LATE_IDS, 0)
}
