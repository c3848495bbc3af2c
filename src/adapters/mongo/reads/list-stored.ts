import type { Document } from 'mongodb'
import type { ListStoredQuery } from '../../../core/store/driver.js'
import type { StoredItem } from '../../../core/store/records.js'
import type { Namespace } from '../connection/namespace.js'
import { snapshot, type Read } from '../connection/reads.js'
import { keyId, rangeOfBucket, rowOf, type KeyDocument } from '../documents/key-document.js'
import { readLeftover, type LeftoverDocument } from '../documents/leftover-document.js'
import { compareBytes, endOfPrefix } from '../documents/text-order.js'

/** What names bytes: rows of two statuses and leftovers, each by storage key or, without one, by key. */
const SOURCES = ['active', 'pending', 'leftover'] as const
type Source = (typeof SOURCES)[number]

/** An item and the range of an index in which it was found. */
interface FoundItem {
  readonly item: StoredItem
  readonly range: string
}

/**
 * Lists what names bytes in a bucket, in the order of the names. Each source is two ranges of an index, because a row
 * without a storage key has null there, and `_id` then orders rows by their keys. One command reads the beginning of all
 * six ranges at one moment.
 */
export function listStored(namespace: Namespace, query: ListStoredQuery): Read<StoredItem[]> {
  const { bucket, limit } = query
  return async (session) => {
    const read = async (names: NameRange, limit: number | null) => {
      const [first, ...more] = SOURCES.flatMap((source) => [
        pageOf(source, storageKeyFilter(source, bucket, names), limit),
        pageOf(source, keyFilter(source, bucket, names), limit),
      ])
      const unions = more.map(({ source, pipeline }) => {
        const { collectionName } = source === 'leftover' ? namespace.leftovers : namespace.objects
        return { $unionWith: { coll: collectionName, pipeline } }
      })
      const documents = await namespace.objects
        .aggregate<KeyDocument | LeftoverDocument>([...first!.pipeline, ...unions], {
          ...{ session, ...snapshot(), hint: 'active_by_storage' },
          batchSize: limit === null ? 1000 : SOURCES.length * 2 * (limit + 1),
        })
        .toArray()
      return documents.map(foundItem).sort((a, b) => compareBytes(a.item.storageKey, b.item.storageKey))
    }

    // One more than the page, to tell whether a range has more items with the last name of the page.
    const found = await read(namesOf(query), limit + 1)
    const last = found[limit - 1]?.item.storageKey
    if (last === undefined) return found.map(({ item }) => item)
    const page = found.slice(0, limit)
    const rest = found.slice(limit).filter(({ item }) => item.storageKey === last)
    const items = [...page, ...rest]
    if (!items.some(({ range }) => countIn(range, items) > limit)) return items.map(({ item }) => item)
    // Very rare, because few things name the same bytes.
    const named = await read({ $gte: last, $lte: last }, null)
    return [...items.filter(({ item }) => item.storageKey !== last), ...named].map(({ item }) => item)
  }
}

function countIn(range: string, items: readonly FoundItem[]): number {
  return items.filter((item) => item.range === range).length
}

/** A range of names. It always has a lower bound. */
type NameRange = Readonly<Partial<Record<'$gt' | '$gte' | '$lt' | '$lte', string>>>

function namesOf({ prefix, after }: ListStoredQuery): NameRange {
  const end = prefix === null ? null : endOfPrefix(prefix)
  const isWithin = after !== null && (prefix === null || compareBytes(after, prefix) >= 0)
  return { ...(isWithin ? { $gt: after } : { $gte: prefix ?? '' }), ...(end !== null && { $lt: end }) }
}

/** The fields that an index of a source consists of. */
function fieldsOf(source: Source): { readonly storageKey: string; readonly at: string } {
  return source === 'leftover'
    ? { storageKey: 'storageKey', at: 'at' }
    : { storageKey: `${source}.storageKey`, at: '_id' }
}

/** Indexes of rows are partial, so the filters repeat the condition. */
function hasSource(source: Source): Document {
  return source === 'leftover' ? {} : { [`${source}.id`]: { $exists: true } }
}

function storageKeyFilter(source: Source, bucket: string, names: NameRange): Document {
  const { storageKey, at } = fieldsOf(source)
  return { ...hasSource(source), [storageKey]: names, [at]: rangeOfBucket(bucket) }
}

function keyFilter(source: Source, bucket: string, names: NameRange): Document {
  const { storageKey, at } = fieldsOf(source)
  const bounds = Object.entries(names).map(([bound, key]) => [bound, keyId({ bucket, key })] as const)
  const { $lt } = rangeOfBucket(bucket)
  return { ...hasSource(source), [storageKey]: null, [at]: { $lt, ...Object.fromEntries(bounds) } }
}

function pageOf(source: Source, filter: Document, limit: number | null) {
  const { storageKey, at } = fieldsOf(source)
  const pipeline = [
    { $match: filter },
    // Only the index by storage key has this order. Inside `$unionWith` it can't be named.
    { $sort: { [storageKey]: 1, [at]: 1 } },
    ...(limit === null ? [] : [{ $limit: limit }]),
    ...(source === 'leftover' ? [] : [{ $project: { scope: 1, [source]: 1 } }]),
  ]
  return { source, pipeline }
}

function foundItem(document: KeyDocument | LeftoverDocument): FoundItem {
  if ('at' in document) {
    const leftover = readLeftover(document as LeftoverDocument)
    return found('leftover', leftover.storageKey, {
      storageKey: leftover.storageKey ?? leftover.key,
      leftover,
    })
  }
  const source = document.active ? 'active' : 'pending'
  const object = rowOf(document, source)!
  return found(source, object.storageKey, { storageKey: object.storageKey ?? object.key, object })
}

function found(source: Source, storageKey: string | null, item: StoredItem): FoundItem {
  return { item, range: `${source} by ${storageKey === null ? 'key' : 'storage key'}` }
}
