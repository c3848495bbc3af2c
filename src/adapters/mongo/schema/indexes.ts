import type { Place } from '../connection/place.js'

/** An index of the adapter. Names and definitions are API towards what `migrate()` finds in the database. */
export interface ExpectedIndex {
  readonly name: string
  readonly key: Readonly<Record<string, 1>>
  /** The field without which a document is not in the index. A query uses it only where its filter implies the field. */
  readonly only?: string
}

type IndexedCollection = Exclude<keyof Place, 'client' | 'db' | 'clock'>

/** What each filter and each order of the store needs, by collection. Documents of scopes are in none of them. */
export const INDEXES: Readonly<Record<IndexedCollection, readonly ExpectedIndex[]>> = {
  objects: [
    { name: 'active_by_id', key: { scope: 1, 'active.id': 1 }, only: 'active.id' },
    { name: 'pending_by_id', key: { scope: 1, 'pending.id': 1 }, only: 'pending.id' },
    {
      name: 'active_by_route',
      key: { scope: 1, 'active.route': 1, 'active.id': 1 },
      only: 'active.route',
    },
    {
      name: 'pending_by_route',
      key: { scope: 1, 'pending.route': 1, 'pending.id': 1 },
      only: 'pending.route',
    },
    {
      name: 'pending_by_expiry',
      key: { 'pending.expiresAt': 1, 'pending.id': 1 },
      only: 'pending.expiresAt',
    },
    {
      name: 'pending_of_scope_by_expiry',
      key: { scope: 1, 'pending.expiresAt': 1, 'pending.id': 1 },
      only: 'pending.expiresAt',
    },
  ],
  history: [
    { name: 'by_scope', key: { scope: 1, _id: 1 } },
    { name: 'by_route', key: { scope: 1, 'row.route': 1, _id: 1 }, only: 'row.route' },
    { name: 'by_key', key: { at: 1, _id: 1 } },
    { name: 'by_deletion', key: { deletedAt: 1, _id: 1 } },
  ],
  leftovers: [{ name: 'by_age', key: { since: 1, _id: 1 } }],
  schema: [],
}

export const COLLECTIONS = Object.keys(INDEXES) as readonly IndexedCollection[]

/** As `createIndexes` takes it. */
export function specification({ name, key, only }: ExpectedIndex) {
  return { name, key, ...(only !== undefined && { partialFilterExpression: { [only]: { $exists: true } } }) }
}
