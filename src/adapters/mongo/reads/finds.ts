import type { ClientSession, Document, FindCursor, FindOptions } from 'mongodb'
import { keyId } from '../../../core/names.js'
import type { FindByIdQuery, FindQuery } from '../../../core/store/driver.js'
import type { ObjectReference, StorageObject } from '../../../core/store/records.js'
import { isRouted } from '../connection/namespace.js'
import { majority, momentOf, snapshot, type Read } from '../connection/reads.js'
import { readHistory, type HistoryDocument } from '../documents/traces.js'
import { rowOf, type KeyDocument } from '../documents/key-document.js'
import { readSums, type ScopeSums } from '../documents/scope-document.js'

export function findSums(scope: string): Read<ScopeSums> {
  return async ({ namespace, session }) =>
    readSums(await namespace.objects.findOne({ _id: scope }, { session, ...majority() }))
}

export function findLive(
  { scope = null, ...reference }: ObjectReference & Partial<FindQuery>,
  status: 'active' | 'pending',
): Read<StorageObject | null> {
  return async ({ namespace, session }) => {
    const filter = { _id: keyId(reference), ...(scope !== null && { scope }) }
    const document = await namespace.objects.findOne<KeyDocument>(filter, { session, ...majority() })
    return document && rowOf(document, status)
  }
}

/** Returns the scope of each key that has a live row, by the `_id` of the key. */
export function findScopes(references: readonly ObjectReference[]): Read<Map<string, string>> {
  const filter = { _id: { $in: references.map(keyId) } }
  return async ({ namespace, session }) => {
    const documents = await namespace.objects
      .find<KeyDocument>(filter, { session, ...majority(), batchSize: references.length + 1 })
      .project<Pick<KeyDocument, '_id' | 'scope'>>({ scope: 1 })
      .toArray()
    return new Map(documents.map(({ _id, scope }) => [_id, scope]))
  }
}

type RowDocument = KeyDocument | HistoryDocument

/** Returns the active row of a key, else the pending one, else the newest deleted one, as of one moment. */
export function findAny(query: FindQuery): Read<StorageObject | null> {
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
  return async ({ namespace, session }) => {
    const { objects, history } = namespace
    if (await isRouted(namespace)) {
      const shown = fields ? { projection: fields } : {}
      const found = await findLiveFirst(
        session,
        (options) => objects.find<KeyDocument>({ _id: id }, { ...options, ...shown }),
        (options) =>
          history
            .find<HistoryDocument>(ofKey, { ...options, ...shown })
            .sort(newest)
            .limit(1),
      )
      return found[0] ? read(found[0]) : null
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

/** Returns the row with this id, the live one before the deleted one, as of one moment. */
export function findById({ id, scope }: FindByIdQuery): Read<StorageObject | null> {
  const ofScope = scope === null ? {} : { scope }
  const isLive = { $or: ['active.id', 'pending.id'].map((field) => ({ ...ofScope, [field]: id })) }
  const wasLive = { _id: id, ...ofScope }
  return async ({ namespace, session }) => {
    const { objects, history } = namespace
    const pipeline = [
      { $match: isLive },
      { $unionWith: { coll: history.collectionName, pipeline: [{ $match: wasLive }] } },
    ]
    const documents = (await isRouted(namespace))
      ? await findLiveFirst(
          session,
          (options) => objects.find<KeyDocument>(isLive, options),
          (options) => history.find<HistoryDocument>(wasLive, options),
        )
      : await objects.aggregate<RowDocument>(pipeline, { session, ...snapshot() }).toArray()
    const rows = documents.flatMap((document) =>
      isDeleted(document) ? [readHistory(document)] : [rowOf(document, 'active'), rowOf(document, 'pending')],
    )
    const withId = rows.filter((row) => row?.id === id)
    return withId.find((row) => row?.status === 'active') ?? withId[0] ?? null
  }
}

/**
 * Reads live rows. If there are none, reads live and deleted rows of the same moment: one may have become either since.
 * Through a router, one command for both collections takes longer.
 */
async function findLiveFirst(
  session: ClientSession,
  live: (options: FindOptions) => FindCursor<KeyDocument>,
  deleted: (options: FindOptions) => FindCursor<HistoryDocument>,
): Promise<readonly RowDocument[]> {
  const first = await live({ session, ...majority() }).toArray()
  if (first.length > 0) return first
  const moment = momentOf(session)
  const [rows, deletedRows] = await Promise.all([moment.open(live).toArray(), moment.open(deleted).toArray()])
  return [...rows, ...deletedRows]
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
