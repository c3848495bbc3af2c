import type { AggregationCursor, Document } from 'mongodb'
import type { Leftover, StorageObject } from '../../../core/store/records.js'
import type { ListExpiredQuery, ListLeftoversQuery, ListQuery } from '../../../core/store/driver.js'
import type { Place } from '../connection/place.js'
import { snapshot } from '../connection/reads.js'
import { readHistory, type HistoryDocument } from '../documents/history-document.js'
import { rowOf, type KeyDocument } from '../documents/key-document.js'
import { readLeftover, type LeftoverDocument } from '../documents/leftover-document.js'
import type { Read } from './read.js'

/** Behind every id. An index that leaves documents out serves only filters that say something of its field. */
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

type LiveStatus = 'active' | 'pending'

/** Where the rows of one status are, newest first: a range of one index. */
interface Range {
  readonly filter: Document
  readonly sort: Document
  readonly index: string
}

/** The first answer would otherwise end after 101 documents, and a second round trip follow. */
const whole = (limit: number) => ({ batchSize: limit + 1 })

export function listObjects(place: Place, query: ListQuery): Read<StorageObject[]> {
  const [status, ...more] = query.statuses
  if (more.length > 0) return listLive(place, query)
  return status === 'deleted' ? listDeleted(place, query) : listStatus(place, query, status!)
}

function listStatus(place: Place, query: ListQuery, status: LiveStatus): Read<StorageObject[]> {
  const { filter, sort, index } = rangeOf(status, query)
  return async (session) => {
    const documents = await place.objects
      .find<KeyDocument>(filter, { session, ...snapshot(), ...whole(query.limit) })
      .sort(sort)
      .limit(query.limit)
      .hint(index)
      .project<KeyDocument>({ scope: 1, [status]: 1 })
      .toArray()
    return documents.map((document) => rowOf(document, status)!)
  }
}

/**
 * A page of both statuses is the newest of two pages. One command reads them at one moment, so that an object which is
 * confirmed meanwhile is in one of them, and in no more.
 */
function listLive(place: Place, query: ListQuery): Read<StorageObject[]> {
  const page = (status: LiveStatus) => {
    const { filter, sort } = rangeOf(status, query)
    return [
      { $match: filter },
      { $sort: sort },
      { $limit: query.limit },
      { $project: { scope: 1, [status]: 1 } },
    ]
  }
  const coll = place.objects.collectionName
  const pipeline = [...page('active'), { $unionWith: { coll, pipeline: page('pending') } }]
  const { index } = rangeOf('active', query)
  return async (session) => {
    const cursor = place.objects.aggregate<KeyDocument>(pipeline, {
      ...{ session, ...snapshot(), ...whole(2 * query.limit), hint: index },
    })
    return newestOf(cursor, query.limit)
  }
}

/**
 * The newest of active rows and of the pending ones that come behind them. To decode a document takes longer than to fetch
 * it, and the driver does so when it hands it out: so it is asked for no more than can be on the page.
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
  // Two runs in order, which a sort merges.
  return [...active, ...pending].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit)
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

function listDeleted(place: Place, { scope, route, before, limit }: ListQuery): Read<StorageObject[]> {
  const filter = { scope, ...(route !== null && { 'row.route': route }), _id: { $lt: before ?? LAST_ID } }
  return async (session) => {
    const documents = await place.history
      .find<HistoryDocument>(filter, { session, ...snapshot(), ...whole(limit) })
      .sort({ _id: -1 })
      .limit(limit)
      .hint(route === null ? 'by_scope' : 'by_route')
      .toArray()
    return documents.map(readHistory)
  }
}

export function listExpired(
  place: Place,
  { scope, before, limit, after }: ListExpiredQuery,
): Read<StorageObject[]> {
  const ofScope = scope === null ? {} : { scope }
  const lapsed = { ...ofScope, 'pending.expiresAt': { $lte: before } }
  const filter = after
    ? behind({ ...ofScope }, ['pending.expiresAt', after.expiresAt], ['pending.id', after.id], {
        $lte: before,
      })
    : lapsed
  return async (session) => {
    const documents = await place.objects
      .find<KeyDocument>(filter, { session, ...snapshot(), ...whole(limit) })
      .sort({ 'pending.expiresAt': 1, 'pending.id': 1 })
      .limit(limit)
      .hint(scope === null ? 'pending_by_expiry' : 'pending_of_scope_by_expiry')
      .project<KeyDocument>({ scope: 1, pending: 1 })
      .toArray()
    return documents.map((document) => rowOf(document, 'pending')!)
  }
}

export function listLeftovers(place: Place, { limit, after }: ListLeftoversQuery): Read<Leftover[]> {
  const filter = after ? behind({}, ['since', after.since], ['_id', after.attemptId], {}) : {}
  return async (session) => {
    const documents = await place.leftovers
      .find<LeftoverDocument>(filter, { session, ...snapshot(), ...whole(limit) })
      .sort({ since: 1, _id: 1 })
      .limit(limit)
      .hint('by_age')
      .toArray()
    return documents.map(readLeftover)
  }
}

/** What comes after a date and an id: two ranges of the index that sorts by both, which the server merges. */
function behind(
  common: Document,
  [dateField, date]: readonly [string, Date],
  [idField, id]: readonly [string, string],
  end: Document,
): Document {
  return {
    $or: [
      { ...common, [dateField]: date, [idField]: { $gt: id } },
      { ...common, [dateField]: { $gt: date, ...end } },
    ],
  }
}
