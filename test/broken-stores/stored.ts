import type { StoredItem } from '../../src/adapter.js'
import { overDriver, driverResult, driverCall, driverInput, type Mutants } from './mutant.js'

const whole = { prefix: null, after: null, limit: 1000, withMetadata: true }

/** Replaces the result of every page of names. */
const overPages = (broken: (items: StoredItem[]) => StoredItem[]) =>
  overDriver((driver) => ({ listStored: async (query) => broken(await driver.listStored(query)) }))

/** Mutants of `listStored` and `findById`. */
export const storedMutants: Mutants = {
  'lists no metadata of stored rows': [
    overPages((items) =>
      items.map((item) => (item.object ? { ...item, object: { ...item.object, metadata: null } } : item)),
    ),
    'listStored: returns live rows and leftovers by their storage key',
  ],
  'always lists the metadata of stored rows': [
    driverInput('listStored', (query) => ({ ...query, withMetadata: true })),
    'listStored: leaves out the metadata if asked to',
  ],
  'lists stored rows without a storage key as if they had one': [
    overPages((items) =>
      items.map((item) =>
        item.object ? { ...item, object: { ...item.object, storageKey: item.storageKey } } : item,
      ),
    ),
    'listStored: names a row or a leftover without a storage key by its key',
  ],
  'leaves out replacements of stored objects': [
    overPages((items) =>
      items.filter(
        ({ object }) =>
          object?.status !== 'pending' ||
          !items.some((other) => other.object?.status === 'active' && other.object.key === object.key),
      ),
    ),
    'listStored: returns an object and its pending replacement',
  ],
  'lists what is stored in another bucket': [
    driverResult('listStored', (items, query, driver) =>
      items.length === 0 && query.after === null ? driver.listStored({ ...query, bucket: 'another' }) : items,
    ),
    'listStored: returns neither history, nor forgotten leftovers, nor other buckets',
  ],
  'sorts names in UTF-16 order': [
    driverCall('listStored', async (query, driver) => {
      const { after, limit } = query
      const items = await driver.listStored({ ...query, after: null, limit: 1000 })
      const sorted = items
        .sort((a, b) => (a.storageKey < b.storageKey ? -1 : 1))
        .filter(({ storageKey }) => after === null || storageKey > after)
      const last = sorted[limit - 1]
      return last ? sorted.filter(({ storageKey }) => storageKey <= last.storageKey) : sorted
    }),
    'listStored: sorts names by their bytes, on every page',
  ],
  'splits the items of one name': [
    driverResult('listStored', (items, query) => items.slice(0, query.limit)),
    'listStored: never splits the items of one name between two pages',
    'listStored: matches prefixes at the end of every plane',
  ],
  'continues a list of names only after a name that exists': [
    driverCall('listStored', async (query, driver) => {
      const { bucket, prefix, after } = query
      const items = await driver.listStored({ ...whole, bucket })
      const exists = after === null || prefix !== null || items.some(({ storageKey }) => storageKey === after)
      return exists ? driver.listStored(query) : []
    }),
    'listStored: starts after a name that need not exist',
  ],
  'takes a prefix for a pattern': [
    driverCall('listStored', async (query, driver) => {
      if (!query.prefix?.includes('_')) return driver.listStored(query)
      const pattern = new RegExp(
        `^${query.prefix.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('_', '.')}`,
      )
      const items = await driver.listStored({ ...query, prefix: null, limit: 1000 })
      return items.filter(({ storageKey }) => pattern.test(storageKey)).slice(0, query.limit)
    }),
    'listStored: matches a prefix byte for byte',
  ],
  'ends a prefix at the last character of the basic plane': [
    driverResult('listStored', (items, query) => {
      const { prefix } = query
      return prefix === null
        ? items
        : items.filter(({ storageKey }) => !storageKey.slice(prefix.length).startsWith('\u{10ffff}'))
    }),
    'listStored: matches prefixes at the end of every plane',
  ],
  'ignores the prefix after the first page': [
    driverInput('listStored', (query) => {
      const isBefore = query.after !== null && query.prefix !== null && query.after < query.prefix
      return isBefore ? { ...query, prefix: null } : query
    }),
    'listStored: combines prefix and position',
  ],
  'compares only the first 1000 bytes of names': [
    driverInput('listStored', (query) => {
      const { prefix } = query
      return { ...query, prefix: prefix && [...prefix].slice(0, 500).join('') }
    }),
    'listStored: takes names of the greatest length',
  ],
  'lists at most 100 names': [
    driverInput('listStored', (query) => ({ ...query, limit: Math.min(100, query.limit) })),
    'listStored: returns 100 items by default',
  ],
  'finds no pending row by its id': [
    driverResult('findById', async (row, _query, driver) => {
      if (row?.status !== 'pending') return row
      return (await driver.findActive({ ...row, scope: null })) ? row : null
    }),
    'findById: returns a pending, an active and a deleted row',
    'findById: returns a row only if it belongs to the given scope',
  ],
  'finds an object by its last attempt': [
    overDriver((driver) => {
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
    'findById: finds a replacement by its attempt only until it is confirmed',
  ],
  'finds only the newest history of a key by its id': [
    driverResult('findById', async (row, _query, driver) => {
      const found = row && (await driver.find({ ...row, scope: null }))
      return row?.status === 'deleted' && found?.id !== row.id ? null : row
    }),
    'findById: finds each object of a key, live and removed',
  ],
  'finds rows by their id that are gone': [
    overDriver((driver) => {
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
    'findById: returns null for rows that are gone, and for ids that never existed',
  ],
  'finds history by its id for any scope': [
    driverCall('findById', async (query, driver) => {
      const row = await driver.findById({ ...query, scope: null })
      return row?.status === 'deleted' && query.scope !== null
        ? { ...row, scope: query.scope }
        : driver.findById(query)
    }),
    'findById: returns a row only if it belongs to the given scope',
  ],
  'finds a transferred object by its id for its old scope': [
    overDriver((driver) => {
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
    'findById after a transfer: returns the row for its new scope only',
  ],
}
