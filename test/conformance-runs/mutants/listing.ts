import type { StorageObject } from '@svc/db'
import { StorageError } from '@svc/db'
import { decodeCursor, encodeCursor } from '../../../src/core/store/cursor.js'
import { SCRIPTS, overDriver, overStore, type Mutant } from './mutant.js'

const byId = (a: StorageObject, b: StorageObject) => (a.id < b.id ? 1 : -1)

/** A listing that makes its own cursors, from the whole list of the scope. */
function withOwnCursors(
  from: (cursor: string | null, rows: readonly StorageObject[]) => number,
  cursorAt: (index: number, rows: readonly StorageObject[]) => string,
) {
  return overStore((store) => ({
    async listByScope({ cursor, limit, ...input }) {
      const { objects } = await store.listByScope({ ...input, limit: 1000 })
      const start = from(cursor ?? null, objects)
      const end = start + (limit ?? 100)
      const page = objects.slice(start, end)
      return end < objects.length ? { objects: page, nextCursor: cursorAt(end, objects) } : { objects: page }
    },
  }))
}

export const listingMutants: readonly Mutant[] = [
  {
    it: 'drops the scope filter of lists',
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
    caughtBy: ['listByScope: shows only the rows of the scope', SCRIPTS.ofAnything],
  },
  {
    it: 'loses the last row of every page but the last',
    createStore: overStore((store) => ({
      async listByScope(input) {
        const page = await store.listByScope(input)
        return page.nextCursor === undefined ? page : { ...page, objects: page.objects.slice(0, -1) }
      },
    })),
    caughtBy: [
      'listByScope: gives every row once, page by page, with a cursor only where another page exists',
      SCRIPTS.ofAnything,
    ],
  },
  {
    it: 'has no cursor though another page exists',
    createStore: overDriver((driver) => ({
      list: (query) => driver.list({ ...query, limit: query.limit - 1 || 1 }),
    })),
    caughtBy: ['listByScope: gives 100 rows by default', SCRIPTS.ofAnything],
  },
  {
    it: 'has a cursor on a last page that is full',
    createStore: overStore((store) => ({
      async listByScope(input) {
        const page = await store.listByScope(input)
        const full = page.objects.length === (input.limit ?? 100)
        return full ? { nextCursor: encodeCursor(page.objects.at(-1)!.id), ...page } : page
      },
    })),
    caughtBy: [
      'listByScope: gives every row once, page by page, with a cursor only where another page exists',
      SCRIPTS.ofAnything,
    ],
  },
  {
    it: 'shows the row at which a cursor stands again',
    createStore: overDriver((driver) => ({
      list: (query) => driver.list({ ...query, before: query.before && `${query.before}~` }),
    })),
    caughtBy: [
      'listByScope: gives every row once, page by page, with a cursor only where another page exists',
      SCRIPTS.ofAnything,
    ],
  },
  {
    it: 'has cursors without a checksum',
    createStore: overStore((store) => ({
      async listByScope(input) {
        let cursor = input.cursor
        if (cursor != null) {
          const id = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'))
          if (id.length !== 36) throw new StorageError('INVALID_CURSOR')
          cursor = encodeCursor(id)
        }
        const { objects, nextCursor } = await store.listByScope({ ...input, cursor })
        return nextCursor === undefined
          ? { objects }
          : { objects, nextCursor: btoa(decodeCursor(nextCursor)) }
      },
    })),
    caughtBy: [
      'cursor: is invalid where any character was changed',
      'cursor: is invalid where it was made up',
    ],
  },
  {
    it: 'takes any cursor that begins like one of its own',
    createStore: overStore((store) => ({
      listByScope: (input) => store.listByScope({ ...input, cursor: input.cursor?.slice(0, 28) }),
    })),
    caughtBy: ['cursor: is invalid where it was extended'],
  },
  {
    it: 'takes an empty cursor for none',
    createStore: overStore((store) => ({
      listByScope: (input) => store.listByScope({ ...input, cursor: input.cursor || null }),
    })),
    caughtBy: ['cursor: is invalid where it was made up'],
  },
  {
    it: 'has cursors that count rows',
    createStore: withOwnCursors(
      (cursor) => (cursor === null ? 0 : Number(cursor.slice(1))),
      (index) => `c${index}`,
    ),
    caughtBy: [
      'listByScope: shows rows that are there all along once, whatever comes and goes between pages',
      'cursor: is invalid where it was made up',
    ],
  },
  {
    it: 'has cursors that hold what was asked for, of any length',
    createStore: withOwnCursors(
      (cursor, rows) => rows.findIndex(({ id }) => id === cursor?.slice(0, 36)) + 1,
      (index, rows) => {
        const { id, scope, bucket, key } = rows[index - 1]!
        return `${id}${[scope, bucket, key].join('.').replaceAll(' ', '_')}`
      },
    ),
    caughtBy: [
      'cursor: is URL-safe and at most 200 characters long also where every name is as long as it may be',
      'cursor: still marks its position when the row that it stands behind is gone',
    ],
  },
  {
    it: 'takes cursors only under the scope that they were made for',
    createStore: overStore((store) => {
      const scopes = new Map<string, string>()
      return {
        async listByScope(input) {
          if (input.cursor != null && (scopes.get(input.cursor) ?? input.scope) !== input.scope) {
            throw new StorageError('INVALID_CURSOR')
          }
          const page = await store.listByScope(input)
          if (page.nextCursor !== undefined) scopes.set(page.nextCursor, input.scope)
          return page
        },
      }
    }),
    caughtBy: ['cursor: shows only what the scope shows under which it is used'],
  },
  {
    it: 'shows oldest first',
    createStore: overStore((store) => ({
      async listByScope(input) {
        const page = await store.listByScope(input)
        return { ...page, objects: page.objects.toReversed() }
      },
    })),
    caughtBy: ['listByScope: shows newest created first, for every status', SCRIPTS.ofAnything],
  },
  {
    it: 'shows what changed last first',
    createStore: withOwnOrder((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime() || byId(a, b)),
    caughtBy: [SCRIPTS.ofAnything],
  },
  {
    it: 'shows what has the latest createdAt first, whatever its id',
    createStore: withOwnOrder((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || byId(a, b)),
    caughtBy: [SCRIPTS.ofAnything],
  },
  {
    it: 'shows deleted rows where no status is asked for',
    createStore: overDriver((driver) => ({
      list: (query) =>
        driver.list(
          query.statuses.length > 1 ? { ...query, statuses: ['pending', 'active', 'deleted'] } : query,
        ),
    })),
    caughtBy: ['listByScope: shows pending and active rows by default, of all buckets', SCRIPTS.ofAnything],
  },
  {
    it: 'takes a route for the beginning of a name',
    createStore: overStore((store) => ({
      async listByScope({ route, ...input }) {
        if (route == null) return store.listByScope(input)
        const { objects } = await store.listByScope({ ...input, limit: 1000 })
        return { objects: objects.filter((row) => row.route?.startsWith(route)) }
      },
    })),
    caughtBy: ['listByScope: shows the rows of one route, by its exact name'],
  },
  {
    it: 'counts a replacement in progress as one',
    createStore: overStore((store) => ({
      async countByScope(scope, status) {
        if (status != null) return store.countByScope(scope, status)
        const { files, reservedFiles } = await store.getScopeUsage(scope)
        return files + reservedFiles
      },
    })),
    caughtBy: [
      'countByScope: counts a replacement in progress as the two rows that it is, and one after its confirm',
      SCRIPTS.ofAnything,
    ],
  },
  {
    it: 'counts no more than a page',
    createStore: overStore((store) => ({
      countByScope: async (scope, status) =>
        (await store.listByScope({ scope, status, limit: 2 })).objects.length,
    })),
    caughtBy: [
      'countByScope: counts pending and active rows by default, and the rows of one status',
      SCRIPTS.ofAnything,
    ],
  },
  {
    it: 'gives 50 rows by default',
    createStore: overStore((store) => ({
      listByScope: (input) => store.listByScope({ ...input, limit: input.limit ?? 50 }),
    })),
    caughtBy: ['listByScope: gives 100 rows by default'],
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
