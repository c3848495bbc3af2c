import type { AggregationCursor, Document } from 'mongodb'
import type { Leftover, StorageObject } from '../../../core/store/records.js'
import type {
  ListDueLeftoversQuery,
  ListExpiredQuery,
  ListLeftoversQuery,
  ListQuery,
} from '../../../core/store/driver.js'
import type { Namespace } from '../connection/namespace.js'
import { snapshot, type Read } from '../connection/reads.js'
import { readHistory, type HistoryDocument } from '../documents/history-document.js'
import { rowOf, type KeyDocument } from '../documents/key-document.js'
import { readLeftover, type LeftoverDocument } from '../documents/leftover-document.js'

/** Greater than every id. The first page needs a bound too: a partial index only serves filters on its field. */
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

type LiveStatus = 'active' | 'pending'

/** The range of one index that holds the documents of a list, in the order of the list. */
interface Range {
  readonly filter: Document
  readonly sort: Document
  readonly index: string
}

/** Fetches the page in one round trip. By default, the first batch ends after 101 documents. */
const oneBatch = (limit: number) => ({ batchSize: limit + 1 })

export function listObjects(namespace: Namespace, query: ListQuery): Read<StorageObject[]> {
  const [status, ...more] = query.statuses
  if (more.length > 0) return listLive(namespace, query)
  return status === 'deleted' ? listDeleted(namespace, query) : listStatus(namespace, query, status!)
}

function listStatus(namespace: Namespace, query: ListQuery, status: LiveStatus): Read<StorageObject[]> {
  const { filter, sort, index } = rangeOf(status, query)
  return async (session) => {
    const documents = await namespace.objects
      .find<KeyDocument>(filter, { session, ...snapshot(), ...oneBatch(query.limit) })
      .sort(sort)
      .limit(query.limit)
      .hint(index)
      .project<KeyDocument>(fieldsOf(status, query))
      .toArray()
    return documents.map((document) => rowOf(document, status)!)
  }
}

/**
 * Merges a page of active and a page of pending rows. One command reads both at one moment, so an object that is
 * confirmed meanwhile appears exactly once.
 */
function listLive(namespace: Namespace, query: ListQuery): Read<StorageObject[]> {
  const page = (status: LiveStatus) => {
    const { filter, sort } = rangeOf(status, query)
    return [
      { $match: filter },
      // Only the index of the scope has this order. Inside `$unionWith` it can't be named.
      { $sort: { scope: -1, ...sort } },
      { $limit: query.limit },
      { $project: fieldsOf(status, query) },
    ]
  }
  const coll = namespace.objects.collectionName
  const pipeline = [...page('active'), { $unionWith: { coll, pipeline: page('pending') } }]
  const { index } = rangeOf('active', query)
  return async (session) => {
    const cursor = namespace.objects.aggregate<KeyDocument>(pipeline, {
      ...{ session, ...snapshot(), ...oneBatch(2 * query.limit), hint: index },
    })
    return newestOf(cursor, query.limit)
  }
}

/**
 * Returns the newest rows of a cursor that yields active rows first, then pending ones. Decoding is slower than
 * fetching and happens when the driver yields a document, so this stops once no further row can be on the page.
 */
async function newestOf(cursor: AggregationCursor<KeyDocument>, limit: number): Promise<StorageObject[]> {
  const active: StorageObject[] = []
  const pending: StorageObject[] = []
  for await (const document of cursor) {
    if (document.active) {
      active.push(rowOf(document, 'active')!)
      continue
    }
    const row = rowOf(document, 'pending')!
    if (active.length === limit && row.id < active.at(-1)!.id) break
    pending.push(row)
  }
  if (pending.length === 0) return active
  // Both runs are sorted already, so the sort only merges them.
  return [...active, ...pending].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit)
}

/** Selects the row of one status, with or without its metadata. */
function fieldsOf(status: LiveStatus, { withMetadata }: ListQuery): Document {
  if (withMetadata) return { scope: 1, [status]: 1 }
  return { [status === 'active' ? 'pending' : 'active']: 0, [`${status}.metadata`]: 0 }
}

function rangeOf(status: LiveStatus, { scope, route, before }: ListQuery): Range {
  return {
    filter: {
      scope,
      ...(route !== null && { [`${status}.route`]: route }),
      [`${status}.id`]: { $lt: before ?? LAST_ID },
    },
    sort: { [`${status}.id`]: -1 },
    index: route === null ? `${status}_by_id` : `${status}_by_route`,
  }
}

function listDeleted(
  namespace: Namespace,
  { scope, route, before, limit, withMetadata }: ListQuery,
): Read<StorageObject[]> {
  const filter = { scope, ...(route !== null && { 'row.route': route }), _id: { $lt: before ?? LAST_ID } }
  return async (session) => {
    const documents = await namespace.history
      .find<HistoryDocument>(filter, { session, ...snapshot(), ...oneBatch(limit) })
      .sort({ _id: -1 })
      .limit(limit)
      .hint(route === null ? 'by_scope' : 'by_route')
      .project<HistoryDocument>(withMetadata ? {} : { 'row.metadata': 0 })
      .toArray()
    return documents.map(readHistory)
  }
}

export function listExpired(
  namespace: Namespace,
  { scope, before, limit, after }: ListExpiredQuery,
): Read<StorageObject[]> {
  const ofScope = scope === null ? {} : { scope }
  const expired = { ...ofScope, 'pending.expiresAt': { $lte: before } }
  const filter = after
    ? afterPosition({ ...ofScope }, ['pending.expiresAt', after.expiresAt], ['pending.id', after.id], {
        $lte: before,
      })
    : expired
  return async (session) => {
    const documents = await namespace.objects
      .find<KeyDocument>(filter, { session, ...snapshot(), ...oneBatch(limit) })
      .sort({ 'pending.expiresAt': 1, 'pending.id': 1 })
      .limit(limit)
      .hint(scope === null ? 'pending_by_expiry' : 'pending_of_scope_by_expiry')
      .project<KeyDocument>({ scope: 1, pending: 1 })
      .toArray()
    return documents.map((document) => rowOf(document, 'pending')!)
  }
}

export function listLeftovers(
  namespace: Namespace,
  { scope, limit, after }: ListLeftoversQuery,
): Read<Leftover[]> {
  const ofScope = scope === null ? {} : { scope }
  const filter = after
    ? afterPosition(ofScope, ['since', after.since], ['_id', after.attemptId], {})
    : ofScope
  const index = scope === null ? 'by_age' : 'by_scope'
  return leftoverPage(namespace, { filter, sort: { since: 1, _id: 1 }, index }, limit)
}

/** Lists leftovers that were never put off, whose missing date sorts first, then those that are due. */
export function listDueLeftovers(
  namespace: Namespace,
  { scope, dueBefore, limit, after }: ListDueLeftoversQuery,
): Read<Leftover[]> {
  const ofScope = scope === null ? {} : { scope }
  const due = { ...ofScope, dueAt: { $lte: dueBefore } }
  const neverPutOff = { ...ofScope, dueAt: null, ...(after && { _id: { $gt: after.attemptId } }) }
  const filter = after?.dueAt
    ? afterPosition(ofScope, ['dueAt', after.dueAt], ['_id', after.attemptId], { $lte: dueBefore })
    : { $or: [neverPutOff, due] }
  const index = scope === null ? 'by_due' : 'by_scope_due'
  return leftoverPage(namespace, { filter, sort: { dueAt: 1, _id: 1 }, index }, limit)
}

function leftoverPage(namespace: Namespace, { filter, sort, index }: Range, limit: number): Read<Leftover[]> {
  return async (session) => {
    const documents = await namespace.leftovers
      .find<LeftoverDocument>(filter, { session, ...snapshot(), ...oneBatch(limit) })
      .sort(sort)
      .limit(limit)
      .hint(index)
      .toArray()
    return documents.map(readLeftover)
  }
}

/** Builds the filter for everything after a date and an id: two ranges of one index, which the server merges. */
function afterPosition(
  common: Document,
  [dateField, date]: readonly [string, Date],
  [idField, id]: readonly [string, string],
  end: Document,
): Document {
  return {
    $or: [
      { ...common, [dateField]: { $eq: date, ...end }, [idField]: { $gt: id } },
      { ...common, [dateField]: { $gt: date, ...end } },
    ],
  }
}
