import type { Document, FindCursor } from 'mongodb'
import type { FindByIdQuery, FindQuery } from '../../../core/store/driver.js'
import type { ObjectReference, StorageObject } from '../../../core/store/records.js'
import type { Namespace } from '../connection/namespace.js'
import { majority, snapshot, type Read } from '../connection/reads.js'
import { isRouted } from '../connection/router.js'
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

/** A document with rows of a key: the live ones or a deleted one. */
type RowDocument = KeyDocument | HistoryDocument

/**
 * Returns the active row of a key, else the pending one, else the newest deleted one, as of one moment. With a scope, only
 * if that row belongs to it.
 */
export function findAny(namespace: Namespace, query: FindQuery): Read<StorageObject | null> {
  const { objects, history } = namespace
  const { scope } = query
  const id = keyId(query)
  const ofKey = { at: id }
  const newest = { at: -1, _id: -1 } as const
  const fields = scope === null ? null : fieldsFor(scope)
  const read = (document: RowDocument) => {
    if (scope !== null && document.scope !== scope) return null
    return isDeleted(document)
      ? readHistory(document)
      : (rowOf(document, 'active') ?? rowOf(document, 'pending'))
  }
  return async (session) => {
    if (await isRouted(namespace)) {
      const options = () => ({ session, ...majority(), ...(fields && { projection: fields }) })
      const found = await firstOf<RowDocument>(
        () => objects.findOne<KeyDocument>({ _id: id }, options()),
        () => history.findOne<HistoryDocument>(ofKey, { ...options(), sort: newest }),
      )
      return found && read(found)
    }
    const deleted = [{ $match: ofKey }, { $sort: newest }, { $limit: 1 }]
    const pipeline = [
      { $match: { _id: id } },
      { $unionWith: { coll: history.collectionName, pipeline: deleted } },
      ...(fields ? [{ $project: fields }] : []),
    ]
    const documents = await objects.aggregate<RowDocument>(pipeline, { session, ...snapshot() }).toArray()
    const first = documents.find((document) => !isDeleted(document)) ?? documents[0]
    return first ? read(first) : null
  }
}

/** Returns the row with this id, the live one before the deleted one, as of one moment. With a scope, only if it has the row. */
export function findById(namespace: Namespace, { id, scope }: FindByIdQuery): Read<StorageObject | null> {
  const { objects, history } = namespace
  const ofScope = scope === null ? {} : { scope }
  const isLive = {
    $or: [
      { ...ofScope, 'active.id': id },
      { ...ofScope, 'pending.id': id },
    ],
  }
  const wasLive = { _id: id, ...ofScope }
  const pipeline = [
    { $match: isLive },
    { $unionWith: { coll: history.collectionName, pipeline: [{ $match: wasLive }] } },
  ]
  return async (session) => {
    const documents = (await isRouted(namespace))
      ? await firstOf<readonly RowDocument[]>(
          () => someOf(objects.find<KeyDocument>(isLive, { session, ...majority() })),
          () => someOf(history.find<HistoryDocument>(wasLive, { session, ...majority() })),
        )
      : await objects.aggregate<RowDocument>(pipeline, { session, ...snapshot() }).toArray()
    const rows = (documents ?? []).flatMap((document) =>
      isDeleted(document) ? [readHistory(document)] : [rowOf(document, 'active'), rowOf(document, 'pending')],
    )
    const withId = rows.filter((row) => row?.id === id)
    return withId.find((row) => row?.status === 'active') ?? withId[0] ?? null
  }
}

/**
 * Reads live rows, then deleted ones, by one command each. Through a router, they are faster than one command for both
 * collections, and don't wait for the time of the cluster. Rows only move from live to deleted, and in a session each
 * read sees what the one before it saw, so a row that moves meanwhile is found. Live rows are read again at the end,
 * because the first read can pause while a row becomes active, and a new row can come before an old one is purged.
 */
async function firstOf<T>(
  readLive: () => Promise<T | null>,
  readDeleted: () => Promise<T | null>,
): Promise<T | null> {
  return (await readLive()) ?? (await readDeleted()) ?? (await readLive())
}

async function someOf<T>(cursor: FindCursor<T>): Promise<readonly T[] | null> {
  const documents = await cursor.toArray()
  return documents.length === 0 ? null : documents
}

function isDeleted(document: RowDocument): document is HistoryDocument {
  return 'at' in document
}

/** Builds a projection that leaves out the rows of other scopes: the time they take could reveal that there are some. */
function fieldsFor(scope: string): Document {
  // A literal, because a scope may start with a dollar sign.
  const isOwn = { $eq: ['$scope', { $literal: scope }] }
  const ifOwn = (field: string) => ({ $cond: [isOwn, field, '$$REMOVE'] })
  return {
    ...{ scope: 1, at: 1, deletedAt: 1 },
    ...{ active: ifOwn('$active'), pending: ifOwn('$pending'), row: ifOwn('$row') },
  }
}
