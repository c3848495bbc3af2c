import type { Collection, Document } from 'mongodb'
import type { Leftover, ScopeSummary, StorageObject } from '../../../core/store/records.js'
import type * as inputs from '../../../core/store/inputs/index.js'
import { LATEST_DATE } from '../../../core/store/validation/checks.js'
import type { Stored } from '../connection/namespace.js'
import { chooseMoment, type Moment, type Read } from '../connection/reads.js'
import type { CheckDeadline } from '../documents/stored-row.js'
import { readHistory, readLeftover } from '../documents/traces.js'
import { rowOf, type KeyDocument } from '../documents/key-document.js'
import { rangeOfNames } from './name-range.js'
import { countsIn, readSums, usageIn } from '../documents/scope-document.js'

/** Greater than every id. Also bounds the first page, because a partial index serves only filters on its field. */
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** No date is later. Bounds a list of all dates for the same reason. */
const LAST_DATE = new Date(LATEST_DATE)

type LiveStatus = 'active' | 'pending'

/** The range of one index that holds the documents of a list, in the order of the list. */
interface Range {
  readonly filter: Document
  readonly sort: Document
  readonly index: string
  readonly fields?: Document
}

/** Fetches the page in one round trip. By default, the first batch ends after 101 documents. */
const oneBatch = (limit: number) => ({ batchSize: limit + 1 })

function readRange<D extends Stored>(
  moment: Moment,
  collection: Collection<Stored>,
  { filter, sort, index, fields = {} }: Range,
  limit: number,
): Promise<D[]> {
  const cursor = moment.open((options) =>
    collection
      .find<D>(filter, { ...options, ...oneBatch(limit) })
      .sort(sort)
      .limit(limit)
      .hint(index)
      .project<D>(fields),
  )
  return cursor.toArray()
}

function listRange<D extends Stored, Item>(
  name: 'objects' | 'history' | 'leftovers',
  range: Range,
  limit: number,
  itemOf: (document: D) => Item,
): Read<Item[]> {
  return async (reader) => {
    const collection = reader.namespace[name]
    const moment = await chooseMoment(reader, collection)
    return (await readRange<D>(moment, collection, range, limit)).map(itemOf)
  }
}

export function listObjects(query: inputs.ListQuery): Read<StorageObject[]> {
  const [status, ...more] = query.statuses
  if (more.length > 0) return listLive(query)
  if (status === 'deleted') return listDeleted(query)
  const rowIn = (document: KeyDocument) => rowOf(document, status!)!
  return listRange('objects', rangeOf(status!, query), query.limit, rowIn)
}

/** The share of a page for which pending rows are read at first. Usually, few of the newest rows are pending. */
const PENDING_SHARE = 1 / 10

interface LiveDocuments {
  readonly active: readonly KeyDocument[]
  readonly pending: readonly KeyDocument[]
}

/**
 * Merges a page of active and a page of pending rows of one moment, so an object that is confirmed meanwhile appears
 * exactly once. Without a shared moment, one command reads both, and again if it read too few pending rows.
 */
function listLive(query: inputs.ListQuery): Read<StorageObject[]> {
  const { limit } = query
  const few = Math.ceil(limit * PENDING_SHARE)
  return async (reader) => {
    const { objects } = reader.namespace
    const moment = await chooseMoment(reader, objects)
    if (moment.isShared) {
      const [active, pending] = await Promise.all([
        readRange<KeyDocument>(moment, objects, rangeOf('active', query), limit),
        readRange<KeyDocument>(moment, objects, rangeOf('pending', query), limit),
      ])
      return newestOf({ active, pending }, limit)
    }
    const documents = await readLive(moment, objects, query, few)
    const page = newestOf(documents, limit)
    const pendingRows = page.filter(({ status }) => status === 'pending').length
    if (pendingRows < few || few === limit) return page
    return newestOf(await readLive(moment, objects, query, limit), limit)
  }
}

/** Reads a page by one command, with this many pending rows at most. */
async function readLive(
  moment: Moment,
  objects: Collection<Stored>,
  query: inputs.ListQuery,
  mostPending: number,
): Promise<LiveDocuments> {
  const page = (status: LiveStatus, most: number) => {
    const { filter, sort, fields } = rangeOf(status, query)
    return [
      { $match: filter },
      // Only the index of the scope has this order. Inside `$unionWith` it can't be named.
      { $sort: { scope: -1, ...sort } },
      { $limit: most },
      // The server returns whole documents much faster than parts of them.
      ...(query.withMetadata ? [] : [{ $project: fields }]),
    ]
  }
  const coll = objects.collectionName
  const pending = [...page('pending', mostPending), { $addFields: { isPending: true } }]
  const pipeline = [...page('active', query.limit), { $unionWith: { coll, pipeline: pending } }]
  const cursor = moment.open((options) =>
    objects.aggregate<KeyDocument & { readonly isPending?: true }>(pipeline, {
      ...{ ...options, ...oneBatch(query.limit + mostPending) },
      hint: rangeOf('active', query).index,
    }),
  )
  const documents = await cursor.toArray()
  const firstPending = documents.findIndex(({ isPending }) => isPending)
  const activeRows = firstPending < 0 ? documents.length : firstPending
  return { active: documents.slice(0, activeRows), pending: documents.slice(activeRows) }
}

/** Returns the newest rows. Only these are worth converting. */
function newestOf({ active, pending }: LiveDocuments, limit: number): StorageObject[] {
  const found = [
    ...active.map((document) => ({ document, status: 'active' as const, id: document.active!.id })),
    ...pending.map((document) => ({ document, status: 'pending' as const, id: document.pending!.id })),
  ]
  const page = found.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit)
  return page.map(({ document, status }) => rowOf(document, status)!)
}

function rangeOf(status: LiveStatus, { scope, route, before, withMetadata }: inputs.ListQuery) {
  const other = status === 'active' ? 'pending' : 'active'
  return {
    filter: {
      scope,
      ...(route !== null && { [`${status}.route`]: route }),
      [`${status}.id`]: { $lt: before ?? LAST_ID },
    },
    sort: { [`${status}.id`]: -1 },
    index: route === null ? `${status}_by_id` : `${status}_by_route`,
    /** The row of this status, with or without its metadata. */
    fields: withMetadata ? { scope: 1, [status]: 1 } : { [other]: 0, [`${status}.metadata`]: 0 },
  } satisfies Range
}

function listDeleted(query: inputs.ListQuery): Read<StorageObject[]> {
  const { scope, route, before, limit, withMetadata } = query
  const range: Range = {
    filter: { scope, ...(route !== null && { 'row.route': route }), _id: { $lt: before ?? LAST_ID } },
    sort: { _id: -1 },
    index: route === null ? 'by_scope' : 'by_route',
    fields: withMetadata ? {} : { 'row.metadata': 0 },
  }
  return listRange('history', range, limit, readHistory)
}

/** Live rows in the order of a date that only some have, with an index of all of them and one by scope. */
interface DatedRows {
  readonly status: LiveStatus
  readonly date: 'expiresAt' | 'temporaryUntil'
  /** Returns the form in which the rows have it. */
  readonly storedDate: (date: Date) => Date | CheckDeadline
  readonly index: string
  readonly indexOfScope: string
}

interface DatedQuery {
  readonly scope: string | null
  /** Inclusive. */
  readonly until: Date
  readonly limit: number
  /** The position of the last row of the previous page. */
  readonly after: { readonly date: Date; readonly id: string } | null
}

function listByDate(
  { status, date, storedDate, index, indexOfScope }: DatedRows,
  { scope, until, limit, after }: DatedQuery,
): Read<StorageObject[]> {
  const [dateField, idField] = [`${status}.${date}`, `${status}.id`]
  const ofScope = scope === null ? {} : { scope }
  const due = { $lte: storedDate(until) }
  const range: Range = {
    filter: after
      ? afterPosition(ofScope, [dateField, storedDate(after.date)], [idField, after.id], due)
      : { ...ofScope, [dateField]: due },
    sort: { [dateField]: 1, [idField]: 1 },
    index: scope === null ? index : indexOfScope,
    fields: { scope: 1, [status]: 1 },
  }
  const rowIn = (document: KeyDocument) => rowOf(document, status)!
  return listRange('objects', range, limit, rowIn)
}

const RESERVATIONS: DatedRows = {
  status: 'pending',
  date: 'expiresAt',
  storedDate: (date) => date,
  index: 'pending_by_expiry',
  indexOfScope: 'pending_of_scope_by_expiry',
}

const TEMPORARY: DatedRows = {
  status: 'active',
  date: 'temporaryUntil',
  storedDate: (date) => date,
  index: 'temporary_by_end',
  indexOfScope: 'temporary_of_scope_by_end',
}

const ARRIVED: DatedRows = {
  ...RESERVATIONS,
  storedDate: (checkUntil) => ({ checkUntil }),
}

export function listExpired({ before, after, ...query }: inputs.ListExpiredQuery): Read<StorageObject[]> {
  const position = after && { date: after.expiresAt, id: after.id }
  return listByDate(RESERVATIONS, { ...query, until: before, after: position })
}

export function listTemporary({ before, after, ...query }: inputs.ListTemporaryQuery): Read<StorageObject[]> {
  const position = after && { date: after.temporaryUntil, id: after.id }
  return listByDate(TEMPORARY, { ...query, until: before, after: position })
}

export function listArrived({ dueBefore, after, ...query }: inputs.ListArrivedQuery): Read<StorageObject[]> {
  const position = after && { date: after.expiresAt, id: after.id }
  return listByDate(ARRIVED, { ...query, until: dueBefore ?? LAST_DATE, after: position })
}

export function listLeftovers({ scope, limit, after }: inputs.ListLeftoversQuery): Read<Leftover[]> {
  const ofScope = scope === null ? {} : { scope }
  const filter = after
    ? afterPosition(ofScope, ['since', after.since], ['_id', after.attemptId], {})
    : ofScope
  const index = scope === null ? 'by_age' : 'by_scope'
  const range = { filter, sort: { since: 1, _id: 1 }, index }
  return listRange('leftovers', range, limit, readLeftover)
}

/** Lists leftovers that were never put off, whose missing date sorts first, then those that are due. */
export function listDueLeftovers(query: inputs.ListDueLeftoversQuery): Read<Leftover[]> {
  const { scope, dueBefore, limit, after } = query
  const ofScope = scope === null ? {} : { scope }
  const due = { ...ofScope, dueAt: { $lte: dueBefore } }
  const neverPutOff = { ...ofScope, dueAt: null, ...(after && { _id: { $gt: after.attemptId } }) }
  const filter = after?.dueAt
    ? afterPosition(ofScope, ['dueAt', after.dueAt], ['_id', after.attemptId], { $lte: dueBefore })
    : { $or: [neverPutOff, due] }
  const index = scope === null ? 'by_due' : 'by_scope_due'
  const range = { filter, sort: { dueAt: 1, _id: 1 }, index }
  return listRange('leftovers', range, limit, readLeftover)
}

const FIRST_SCOPE = '\x01'

/** Lists scopes in the order of their UTF-8 bytes. A scope whose last row is gone keeps its document. */
export function listScopes({ limit, ...names }: inputs.ListScopesQuery): Read<ScopeSummary[]> {
  // Only keys have the field. Locks start with NUL, which no scope contains.
  const filter = { scope: null, _id: rangeOfNames(names, FIRST_SCOPE) }
  const range = { filter, sort: { _id: 1 }, index: 'scopes' }
  return listRange('objects', range, limit, (document) => {
    const sums = readSums(document)
    return { scope: document._id, usage: usageIn(sums), counts: countsIn(sums) }
  })
}

/** Builds the filter for everything after a date and an id: two ranges of one index, which the server merges. */
function afterPosition(
  common: Document,
  [dateField, date]: readonly [string, Date | CheckDeadline],
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
