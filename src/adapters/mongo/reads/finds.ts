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

/** Returns the live row of a status, or `null`. */
export function findLive(
  namespace: Namespace,
  reference: ObjectReference,
  status: 'active' | 'pending',
): Read<StorageObject | null> {
  return async (session) => {
    const filter = { _id: keyId(reference) }
    const document = await namespace.objects.findOne<KeyDocument>(filter, { session, ...majority() })
    return document && rowOf(document, status)
  }
}

/** Returns the active row of a key, else the pending one, else the newest deleted one, as of one moment. */
export function findAny(namespace: Namespace, reference: ObjectReference): Read<StorageObject | null> {
  const id = keyId(reference)
  const newest = [{ $match: { at: id } }, { $sort: { at: -1, _id: -1 } }, { $limit: 1 }]
  const pipeline = [
    { $match: { _id: id } },
    { $unionWith: { coll: namespace.history.collectionName, pipeline: newest } },
  ]
  return async (session) => {
    const documents = await namespace.objects
      .aggregate<KeyDocument | HistoryDocument>(pipeline, { session, ...snapshot() })
      .toArray()
    const live = documents.find((document): document is KeyDocument => !('at' in document))
    if (live) return rowOf(live, 'active') ?? rowOf(live, 'pending')
    const [deleted] = documents as HistoryDocument[]
    return deleted ? readHistory(deleted) : null
  }
}
