import type { StoredItem } from '../../src/adapter.js'
import { overDriver, type Mutant } from './mutant.js'

const whole = { prefix: null, after: null, limit: 1000 }

/** Replaces the result of every page of names. */
const overPages = (broken: (items: StoredItem[]) => StoredItem[]) =>
  overDriver((driver) => ({ listStored: async (query) => broken(await driver.listStored(query)) }))

/** Mutants of `listStored` and `findById`. */
export const storedMutants: readonly Mutant[] = [
  {
    defect: 'lists no metadata of stored rows',
    createStore: overPages((items) =>
      items.map((item) => (item.object ? { ...item, object: { ...item.object, metadata: null } } : item)),
    ),
    rejectedBy: ['listStored: returns live rows and leftovers by their storage key'],
  },
  {
    defect: 'lists stored rows without a storage key as if they had one',
    createStore: overPages((items) =>
      items.map((item) =>
        item.object ? { ...item, object: { ...item.object, storageKey: item.storageKey } } : item,
      ),
    ),
    rejectedBy: ['listStored: names a row or a leftover without a storage key by its key'],
  },
  {
    defect: 'leaves out replacements of stored objects',
    createStore: overPages((items) =>
      items.filter(
        ({ object }) =>
          object?.status !== 'pending' ||
          !items.some((other) => other.object?.status === 'active' && other.object.key === object.key),
      ),
    ),
    rejectedBy: ['listStored: returns an object and its pending replacement'],
  },
  {
    defect: 'lists what is stored in another bucket',
    createStore: overDriver((driver) => ({
      async listStored(query) {
        const items = await driver.listStored(query)
        return items.length === 0 && query.after === null
          ? driver.listStored({ ...query, bucket: 'another' })
          : items
      },
    })),
    rejectedBy: ['listStored: returns neither history, nor forgotten leftovers, nor other buckets'],
  },
  {
    defect: 'sorts names in UTF-16 order',
    createStore: overDriver((driver) => ({
      async listStored(query) {
        const { after, limit } = query
        const items = await driver.listStored({ ...query, after: null, limit: 1000 })
        const sorted = items
          .sort((a, b) => (a.storageKey < b.storageKey ? -1 : 1))
          .filter(({ storageKey }) => after === null || storageKey > after)
        const last = sorted[limit - 1]
        return last ? sorted.filter(({ storageKey }) => storageKey <= last.storageKey) : sorted
      },
    })),
    rejectedBy: ['listStored: sorts names by their bytes, on every page'],
  },
  {
    defect: 'splits the items of one name',
    createStore: overDriver((driver) => ({
      listStored: async (query) => (await driver.listStored(query)).slice(0, query.limit),
    })),
    rejectedBy: [
      'listStored: never splits the items of one name between two pages',
      'listStored: matches prefixes at the end of every plane',
    ],
  },
  {
    defect: 'continues a list of names only after a name that exists',
    createStore: overDriver((driver) => ({
      async listStored(query) {
        const { bucket, prefix, after } = query
        const items = await driver.listStored({ ...whole, bucket })
        const exists =
          after === null || prefix !== null || items.some(({ storageKey }) => storageKey === after)
        return exists ? driver.listStored(query) : []
      },
    })),
    rejectedBy: ['listStored: starts after a name that need not exist'],
  },
  {
    defect: 'takes a prefix for a pattern',
    createStore: overDriver((driver) => ({
      async listStored(query) {
        if (!query.prefix?.includes('_')) return driver.listStored(query)
        const pattern = new RegExp(
          `^${query.prefix.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('_', '.')}`,
        )
        const items = await driver.listStored({ ...query, prefix: null, limit: 1000 })
        return items.filter(({ storageKey }) => pattern.test(storageKey)).slice(0, query.limit)
      },
    })),
    rejectedBy: ['listStored: matches a prefix byte for byte'],
  },
  {
    defect: 'ends a prefix at the last character of the basic plane',
    createStore: overDriver((driver) => ({
      async listStored(query) {
        const items = await driver.listStored(query)
        const { prefix } = query
        return prefix === null
          ? items
          : items.filter(({ storageKey }) => !storageKey.slice(prefix.length).startsWith('\u{10ffff}'))
      },
    })),
    rejectedBy: ['listStored: matches prefixes at the end of every plane'],
  },
  {
    defect: 'ignores the prefix after the first page',
    createStore: overDriver((driver) => ({
      async listStored(query) {
        const isBefore = query.after !== null && query.prefix !== null && query.after < query.prefix
        return driver.listStored(isBefore ? { ...query, prefix: null } : query)
      },
    })),
    rejectedBy: ['listStored: combines prefix and position'],
  },
  {
    defect: 'compares only the first 1000 bytes of names',
    createStore: overDriver((driver) => ({
      async listStored(query) {
        const { prefix } = query
        return driver.listStored({ ...query, prefix: prefix && [...prefix].slice(0, 500).join('') })
      },
    })),
    rejectedBy: ['listStored: takes names of the greatest length'],
  },
  {
    defect: 'lists at most 100 names',
    createStore: overDriver((driver) => ({
      listStored: (query) => driver.listStored({ ...query, limit: Math.min(100, query.limit) }),
    })),
    rejectedBy: ['listStored: returns 100 items by default'],
  },
  {
    defect: 'finds no pending row by its id',
    createStore: overDriver((driver) => ({
      async findById(query) {
        const row = await driver.findById(query)
        if (row?.status !== 'pending') return row
        return (await driver.findActive({ ...row, scope: null })) ? row : null
      },
    })),
    rejectedBy: [
      'findById: returns a pending, an active and a deleted row',
      'findById: returns a row only if it belongs to the given scope',
    ],
  },
  {
    defect: 'finds an object by its last attempt',
    createStore: overDriver((driver) => {
      const made = new Map<string, string>()
      return {
        async confirm(command) {
          const result = await driver.confirm(command)
          if (result.outcome === 'confirmed') made.set(result.row.attemptId, result.row.id)
          return result
        },
        async findById(query) {
          return driver.findById({ ...query, id: made.get(query.id) ?? query.id })
        },
      }
    }),
    rejectedBy: ['findById: finds a replacement by its attempt only until it is confirmed'],
  },
  {
    defect: 'finds only the newest history of a key by its id',
    createStore: overDriver((driver) => ({
      async findById(query) {
        const row = await driver.findById(query)
        const found = row && (await driver.find({ ...row, scope: null }))
        return row?.status === 'deleted' && found?.id !== row.id ? null : row
      },
    })),
    rejectedBy: ['findById: finds each object of a key, live and removed'],
  },
  {
    defect: 'finds rows by their id that are gone',
    createStore: overDriver((driver) => {
      const released = new Map<string, Awaited<ReturnType<typeof driver.release>>['row']>()
      return {
        async release(command) {
          const result = await driver.release(command)
          if (result.row) released.set(result.row.id, result.row)
          return result
        },
        findById: async (query) => (await driver.findById(query)) ?? released.get(query.id) ?? null,
      }
    }),
    rejectedBy: ['findById: returns null for rows that are gone, and for ids that never existed'],
  },
  {
    defect: 'finds history by its id for any scope',
    createStore: overDriver((driver) => ({
      async findById(query) {
        const row = await driver.findById({ ...query, scope: null })
        return row?.status === 'deleted' && query.scope !== null
          ? { ...row, scope: query.scope }
          : driver.findById(query)
      },
    })),
    rejectedBy: ['findById: returns a row only if it belongs to the given scope'],
  },
  {
    defect: 'finds a transferred object by its id for its old scope',
    createStore: overDriver((driver) => {
      const owners = new Map<string, string>()
      return {
        async transfer(command) {
          const active = await driver.findActive({ ...command, scope: null })
          if (active) owners.set(active.id, active.scope)
          return driver.transfer(command)
        },
        async findById(query) {
          const row = await driver.findById(query)
          const isOld = row === null && query.scope !== null && owners.get(query.id) === query.scope
          const found = isOld ? await driver.findById({ ...query, scope: null }) : null
          return found ? { ...found, scope: query.scope! } : row
        },
      }
    }),
    rejectedBy: ['findById after a transfer: returns the row for its new scope only'],
  },
]
