import type { Namespace } from '../connection/namespace.js'

/** An index of the adapter. To change the definition, add an index with another name and raise `SCHEMA_VERSION`. */
export interface ExpectedIndex {
  readonly name: string
  readonly key: Readonly<Record<string, 1>>
  /** Indexes only documents that have this field. A query can use the index only if its filter implies the field. */
  readonly only?: string
  /** Indexes only documents that lack this field. */
  readonly without?: string
}

export type IndexedCollection = Exclude<keyof Namespace, 'client' | 'db' | 'openDatabase' | 'clock'>

/**
 * The indexes of each collection: one for every filter and order of the store. Documents of scopes are in `scopes`
 * only.
 *
 * Each index of `objects` costs every upload. In a transaction, MongoDB 5.0 reads the definitions of all of them once for
 * each index when it replaces a document. So no index serves a rare list that can share one.
 *
 * Documents have no `key` field, on purpose. `_id` is `bucket\0key`, without a collation, so its order is the byte
 * order of the keys of a bucket, and a key prefix is a range of `_id`. A `key` field would only help to order keys
 * across buckets or by a collation. Adding it takes two releases, because older ones replace whole documents.
 */
export const INDEXES: Readonly<Record<IndexedCollection, readonly ExpectedIndex[]>> = {
  objects: [
    { name: 'active_by_id', key: { scope: 1, 'active.id': 1 }, only: 'active.id' },
    { name: 'pending_by_id', key: { scope: 1, 'pending.id': 1 }, only: 'pending.id' },
    { name: 'active_by_route', key: { scope: 1, 'active.route': 1, 'active.id': 1 }, only: 'active.route' },
    {
      name: 'pending_by_route',
      key: { scope: 1, 'pending.route': 1, 'pending.id': 1 },
      only: 'pending.route',
    },
    // Arrived attempts have a document in place of the date, and so their own part of the two indexes by expiry.
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
    { name: 'active_by_own_id', key: { 'active.id': 1 }, only: 'active.id' },
    { name: 'pending_by_own_id', key: { 'pending.id': 1 }, only: 'pending.id' },
    // They contain rows without a storage key too, as null, in the order of their keys.
    { name: 'active_by_storage', key: { 'active.storageKey': 1, _id: 1 }, only: 'active.id' },
    { name: 'pending_by_storage', key: { 'pending.storageKey': 1, _id: 1 }, only: 'pending.id' },
    // Documents of scopes and locks. The server refuses a partial index of `_id` alone; `scope` is missing in all of them.
    // No field of the condition changes, so adding to the sums touches no index.
    { name: 'scopes', key: { _id: 1, scope: 1 }, without: 'scope' },
    // Only objects that have an end.
    {
      name: 'temporary_by_end',
      key: { 'active.temporaryUntil': 1, 'active.id': 1 },
      only: 'active.temporaryUntil',
    },
    {
      name: 'temporary_of_scope_by_end',
      key: { scope: 1, 'active.temporaryUntil': 1, 'active.id': 1 },
      only: 'active.temporaryUntil',
    },
    // Only objects that were replaced, and those that 1.5.5 wrote. The attempt of any other one has the id of its object.
    {
      name: 'active_by_attempt',
      key: { scope: 1, 'active.attemptId': 1 },
      only: 'active.attemptId',
      without: 'active.isOriginal',
    },
    // Only rejections, which the collection holds beside keys, scopes and locks. They are few, since a `reject` forgets those that
    // are older than an hour. So those of a scope need no index of their own.
    { name: 'rejections_by_age', key: { rejectedAt: 1, _id: 1 }, only: 'rejectedAt' },
  ],
  history: [
    { name: 'by_scope', key: { scope: 1, _id: 1 } },
    { name: 'by_route', key: { scope: 1, 'row.route': 1, _id: 1 }, only: 'row.route' },
    { name: 'by_key', key: { at: 1, _id: 1 } },
    { name: 'by_deletion', key: { deletedAt: 1, _id: 1 } },
    { name: 'by_scope_deletion', key: { scope: 1, deletedAt: 1, _id: 1 } },
  ],
  leftovers: [
    { name: 'by_age', key: { since: 1, _id: 1 } },
    { name: 'by_due', key: { dueAt: 1, _id: 1 } },
    { name: 'by_scope', key: { scope: 1, since: 1, _id: 1 }, only: 'scope' },
    { name: 'by_storage', key: { storageKey: 1, at: 1 } },
    { name: 'by_scope_due', key: { scope: 1, dueAt: 1, _id: 1 }, only: 'scope' },
  ],
  events: [
    { name: 'ripe', key: { tried: 1, ripeAt: 1, _id: 1 }, only: 'ripeAt' },
    { name: 'by_queue', key: { queue: 1, order: 1 }, only: 'queue' },
  ],
  schema: [],
}

export const COLLECTIONS = Object.keys(INDEXES) as readonly IndexedCollection[]

/** Returns the collections that the adapter needs. Roles that were granted before 2.0 can't use the one of events. */
export function neededCollections(withEvents: boolean): readonly IndexedCollection[] {
  return withEvents ? COLLECTIONS : COLLECTIONS.filter((name) => name !== 'events')
}

/** Builds the argument for `createIndexes`. */
export function specification({ name, key, only, without }: ExpectedIndex) {
  const filter = {
    ...(only !== undefined && { [only]: { $exists: true } }),
    ...(without !== undefined && { [without]: null }),
  }
  return { name, key, ...(Object.keys(filter).length > 0 && { partialFilterExpression: filter }) }
}
