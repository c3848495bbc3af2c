import { StorageError, type ObjectStatus, type StorageObject } from '../../src/adapter.js'
import { encodeCursor } from '../../src/core/store/cursor.js'
import { EARLY_IDS, LATE_IDS, attemptIdOf } from '../conformance/attempt-ids.js'
import {
  SCRIPTS,
  invalid,
  overDriver,
  overReplacements,
  overStore,
  storeResult,
  driverInput,
  storeCall,
  storeInput,
  driverResult,
  type Mutants,
  type Mutant,
} from './mutant.js'

const byId = (a: StorageObject, b: StorageObject) => (a.id < b.id ? 1 : -1)

export const listingMutants: Mutants = {
  'ignores the scope of a list': [
    overDriver((driver) => {
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
    'listByScope: returns only rows of the scope',
    SCRIPTS.ofAnything,
  ],
  'loses the last row of every page but the last': [
    storeResult('listByScope', (page) =>
      page.nextCursor === undefined ? page : { ...page, objects: page.objects.slice(0, -1) },
    ),
    'listByScope: pages through every row exactly once, with a cursor only if there is another page',
    SCRIPTS.ofAnything,
  ],
  'returns no cursor although there is another page': [
    driverInput('list', (query) => ({ ...query, limit: query.limit - 1 || 1 })),
    'listByScope: returns 100 rows by default',
    SCRIPTS.ofAnything,
  ],
  'returns a cursor with a full last page': [
    storeResult('listByScope', (page, input) => {
      const full = page.objects.length === (input.limit ?? 100)
      return full ? { nextCursor: encodeCursor(page.objects.at(-1)!.id), ...page } : page
    }),
    'listByScope: pages through every row exactly once, with a cursor only if there is another page',
    SCRIPTS.ofAnything,
  ],
  'repeats the row of a cursor': [
    driverInput('list', (query) => ({ ...query, before: query.before && `${query.before}~` })),
    'listByScope: pages through every row exactly once, with a cursor only if there is another page',
    SCRIPTS.ofAnything,
  ],
  'lists the oldest rows first': [
    storeResult('listByScope', (page) => ({ ...page, objects: page.objects.toReversed() })),
    'listByScope: returns the newest rows first, for every status',
    SCRIPTS.ofAnything,
  ],
  'lists the last updated rows first': [
    withOwnOrder((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime() || byId(a, b)),
    SCRIPTS.ofAnything,
  ],
  'sorts lists by createdAt before id': [
    withOwnOrder((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || byId(a, b)),
    SCRIPTS.ofAnything,
  ],
  'lists deleted rows by default': [
    driverInput('list', (query) =>
      query.statuses.length > 1 ? { ...query, statuses: ['pending', 'active', 'deleted'] } : query,
    ),
    'listByScope: returns pending and active rows of all buckets by default',
    SCRIPTS.ofAnything,
  ],
  'filters routes by prefix': [
    storeCall('listByScope', async ({ route, ...input }, store) => {
      if (route == null) return store.listByScope(input)
      const { objects } = await store.listByScope({ ...input, limit: 1000 })
      return { objects: objects.filter((row) => row.route?.startsWith(route)) }
    }),
    'listByScope: filters by the exact name of a route',
    'strings: are compared byte for byte as routes, uploads and eTags',
  ],
  'counts a replacement in progress as one row': [
    overStore((store) => ({
      async countByScope(scope, status) {
        if (status != null) return store.countByScope(scope, status)
        const { files, reservedFiles } = await store.getScopeUsage(scope)
        return files + reservedFiles
      },
    })),
    'countByScope: counts a replacement in progress as two rows, and as one after its confirm',
    SCRIPTS.ofAnything,
  ],
  'counts at most one page': [
    overStore((store) => ({
      countByScope: async (scope, status) =>
        (await store.listByScope({ scope, status, limit: 2 })).objects.length,
    })),
    'countByScope: counts pending and active rows by default, and the rows of one status',
    SCRIPTS.ofAnything,
  ],
  'lists 50 rows by default': [
    storeInput('listByScope', (input) => ({ ...input, limit: input.limit ?? 50 })),
    'listByScope: returns 100 rows by default',
  ],
  'returns an undefined cursor with an empty page': [
    storeResult('listByScope', (page) =>
      page.objects.length > 0 ? page : ({ ...page, nextCursor: undefined } as unknown as typeof page),
    ),
    'listByScope: returns an empty page without a cursor for an unknown scope',
  ],
  'hides expired reservations from lists': [
    storeResult('listByScope', (page, _input, _store, { now }) => ({
      ...page,
      objects: page.objects.filter((row) => !(row.expiresAt && row.expiresAt <= now())),
    })),
    'listByScope: includes expired reservations in the pending rows',
  ],
  'lists pending rows as active': [
    overStatuses('active', ['pending', 'active']),
    'listByScope: filters by status',
  ],
  'lists removed objects as active': [
    overStatuses('active', ['active', 'deleted']),
    "listByScope: doesn't return a row under its previous status after a change",
  ],
  'lists rows that were deleted in the same millisecond oldest first': [
    withOwnOrder((a, b) =>
      a.deletedAt && a.deletedAt.getTime() === b.deletedAt?.getTime() ? -byId(a, b) : byId(a, b),
    ),
    'listByScope: returns the newest rows first, for every status',
    'history: is dropped in order of id if purgeDeleted has a limit and all rows were deleted in the same millisecond',
  ],
  'hides a replacement in progress from lists': [
    driverResult('list', (rows) => {
      const isActive = (row: StorageObject) =>
        rows.some(({ status, key }) => status === 'active' && key === row.key)
      return rows.filter((row) => row.status !== 'pending' || !isActive(row))
    }),
    'listByScope: returns both rows of a replacement in progress',
  ],
  'keeps the route of a replaced object': [
    overReplacements((active, replaced) => ({ ...active, route: replaced.route })),
    'listByScope: moves an object to the route of its replacement',
  ],
  'refuses a limit of 1000': [
    storeInput('listByScope', (input) => {
      if (input.limit === 1000) throw invalid('limit')
      return input
    }),
    'listByScope: accepts limits from 1 to 1000',
  ],
  'returns no cursor with the pages of a route': [
    storeResult('listByScope', (page, input) => (input.route == null ? page : { objects: page.objects })),
    'listByScope: pages through every row exactly once with every filter',
  ],
  'lists pending rows before active rows in long lists': [
    driverResult('list', (rows) => {
      const isPending = ({ status }: StorageObject) => Number(status === 'pending')
      return rows.length > 6 ? rows.sort((a, b) => isPending(b) - isPending(a)) : rows
    }),
    'listByScope: merges pending and active rows in order of creation',
  ],
  'lists ids that it made before ids that it was given': [
    withOwnOrder((a, b) => Number(isNew(b)) - Number(isNew(a)) || byId(a, b)),
    'records: sorts rows by id, even if another clock made the ids',
  ],
  'refuses to count the pending rows of an unknown scope': [
    overStore((store) => {
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
    'countByScope: is 0 for an unknown scope',
  ],
  'returns the metadata of deleted rows, even if it is not asked to': [
    driverInput('list', (query) => ({
      ...query,
      withMetadata: query.withMetadata || query.statuses.includes('deleted'),
    })),
    'listByScope: returns rows without metadata if asked to, with a cursor that works either way',
  ],
  'lists from the primary as it was before the last page': [
    overDriver((driver) => {
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
    'listByScope: returns every acknowledged write from the primary',
  ],
  'lists metadata that it was asked to leave out': [
    driverInput('list', (query) => ({ ...query, withMetadata: true })),
    'listByScope: returns rows without metadata if asked to, with a cursor that works either way',
    SCRIPTS.ofAnything,
  ],
}

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
