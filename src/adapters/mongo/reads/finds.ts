import type { FindByIdQuery, FindQuery } from '../../../core/store/driver.js'
import type { ObjectReference, StorageObject } from '../../../core/store/records.js'
import type { Namespace } from '../connection/namespace.js'
import { majority, snapshot, type Read } from '../connection/reads.js'
import { readHistory, type HistoryDocument } from '../documents/history-document.js'
import { keyId, rowOf, type KeyDocument } from '../documents/key-document.js'
import { readSums, type ScopeSums } from '../documents/scope-document.js'

/** Returns the sums of a scope; zeros for an unknown one. */
export function findSums(namespace: Namespace, scope: string): Read<ScopeSums> {
  return async (session) =>
    readSums(await namespace.objects.findOne({ _id: scope }, { session, ...majority() }))
}

/** Returns the live row of a status, or `null`. With a scope, only if it has the key. */
export function findLive(
  namespace: Namespace,
  { scope = null, ...reference }: ObjectReference & Partial<FindQuery>,
  status: 'active' | 'pending',
): Read<StorageObject | null> {
  return async (session) => {
    const filter = { _id: keyId(reference), ...(scope !== null && { scope }) }
    const document = await namespace.objects.findOne<KeyDocument>(filter, { session, ...majority() })
    return document && rowOf(document, status)
  }
}

/**
 * Returns the active row of a key, else the pending one, else the newest deleted one, as of one moment. With a scope, only
 * if that row belongs to it.
 */
export function findAny(namespace: Namespace, query: FindQuery): Read<StorageObject | null> {
  const { scope } = query
  const id = keyId(query)
  const newest = [{ $match: { at: id } }, { $sort: { at: -1, _id: -1 } }, { $limit: 1 }]
  const pipeline = [
    { $match: { _id: id } },
    { $unionWith: { coll: namespace.history.collectionName, pipeline: newest } },
    ...(scope === null ? [] : [{ $replaceWith: withoutForeignRows(scope) }]),
  ]
  return async (session) => {
    const documents = await namespace.objects
      .aggregate<KeyDocument | HistoryDocument>(pipeline, { session, ...snapshot() })
      .toArray()
    const isOwn = (document: { readonly scope: string }) => scope === null || document.scope === scope
    const live = documents.find((document): document is KeyDocument => !('at' in document))
    if (live) return isOwn(live) ? (rowOf(live, 'active') ?? rowOf(live, 'pending')) : null
    const [deleted] = documents as HistoryDocument[]
    return deleted && isOwn(deleted) ? readHistory(deleted) : null
  }
}

/** Returns the row with this id, the live one before the deleted one, as of one moment. With a scope, only if it has the row. */
export function findById(
  { objects, history }: Namespace,
  { id, scope }: FindByIdQuery,
): Read<StorageObject | null> {
  const ofScope = scope === null ? {} : { scope }
  const live = [
    { ...ofScope, 'active.id': id },
    { ...ofScope, 'pending.id': id },
  ]
  const pipeline = [
    { $match: { $or: live } },
    { $unionWith: { coll: history.collectionName, pipeline: [{ $match: { _id: id, ...ofScope } }] } },
  ]
  return async (session) => {
    const documents = await objects
      .aggregate<KeyDocument | HistoryDocument>(pipeline, { session, ...snapshot() })
      .toArray()
    const rows = documents.flatMap((document) =>
      'at' in document
        ? [readHistory(document as HistoryDocument)]
        : [rowOf(document, 'active'), rowOf(document, 'pending')],
    )
    const withId = rows.filter((row) => row?.id === id)
    return withId.find((row) => row?.status === 'active') ?? withId[0] ?? null
  }
}

/** Builds an expression that keeps of another scope's document only what tells whose it is. */
function withoutForeignRows(scope: string): object {
  // A literal, because a scope may start with a dollar sign.
  const isOwn = { $eq: ['$scope', { $literal: scope }] }
  return { $cond: [isOwn, '$$ROOT', { _id: '$_id', at: '$at', scope: '$scope' }] }
}
