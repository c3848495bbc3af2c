import type { ObjectReference, StorageObject } from '../../../core/store/records.js'
import type { Place } from '../connection/place.js'
import { majority, snapshot } from '../connection/reads.js'
import { readHistory, type HistoryDocument } from '../documents/history-document.js'
import { keyId, rowOf, type KeyDocument } from '../documents/key-document.js'
import { readSums, type ScopeSums } from '../documents/scope-document.js'
import type { Read } from './read.js'

/** The sums of a scope; zeros for one that was never seen. */
export function findSums(place: Place, scope: string): Read<ScopeSums> {
  return async (session) => readSums(await place.objects.findOne({ _id: scope }, { session, ...majority() }))
}

/** The live row of one status, or `null`. */
export function findLive(
  place: Place,
  reference: ObjectReference,
  status: 'active' | 'pending',
): Read<StorageObject | null> {
  return async (session) => {
    const filter = { _id: keyId(reference) }
    const document = await place.objects.findOne<KeyDocument>(filter, { session, ...majority() })
    return document && rowOf(document, status)
  }
}

/** The row that stands for the key: what is live, else the newest of its history; both as they were at one moment. */
export function findAny(place: Place, reference: ObjectReference): Read<StorageObject | null> {
  const id = keyId(reference)
  const newest = [{ $match: { at: id } }, { $sort: { at: -1, _id: -1 } }, { $limit: 1 }]
  const pipeline = [
    { $match: { _id: id } },
    { $unionWith: { coll: place.history.collectionName, pipeline: newest } },
  ]
  return async (session) => {
    const documents = await place.objects
      .aggregate<KeyDocument | HistoryDocument>(pipeline, { session, ...snapshot() })
      .toArray()
    const live = documents.find((document): document is KeyDocument => !('at' in document))
    if (live) return rowOf(live, 'active') ?? rowOf(live, 'pending')
    const [deleted] = documents as HistoryDocument[]
    return deleted ? readHistory(deleted) : null
  }
}
