import type { Document } from 'mongodb'
import { compareBytes, keyId } from '../../../core/names.js'
import type { ListStoredQuery } from '../../../core/store/driver.js'
import type { StoredItem } from '../../../core/store/records.js'
import type { Stored } from '../connection/namespace.js'
import { aggregate, type Read, type Reader } from '../connection/reads.js'
import { type KeyDocument, rangeOfBucket, rowOf } from '../documents/key-document.js'
import { type LeftoverDocument, readLeftover } from '../documents/traces.js'
import { type NameRange, rangeOfNames } from './name-range.js'

/**
 * The ranges that each of the commands for a page reads at one moment. An attempt goes from pending to active to
 * leftover, so this order misses none.
 *
 * A range of a bucket with few storage keys could pass many of other buckets before it fills a page. Large ranges
 * therefore end where the page ends according to what was read before.
 */
const COMMANDS: readonly (readonly StoredRange[])[] = [
  [
    { source: 'active', nameIs: 'key' },
    { source: 'pending', nameIs: 'key' },
    { source: 'pending', nameIs: 'storageKey' },
  ],
  [{ source: 'active', nameIs: 'storageKey' }],
  [
    { source: 'leftover', nameIs: 'key' },
    { source: 'leftover', nameIs: 'storageKey' },
  ],
]

export function listStored(query: ListStoredQuery): Read<StoredItem[]> {
  const { bucket, limit, withMetadata } = query
  // One more than the page, to tell whether a range has more items with the last name of the page.
  const oneMore = limit + 1
  return async (reader) => {
    let items: StoredItem[] = []
    const fullRangeEnds: string[] = []
    for (const ranges of COMMANDS) {
      const names = namesOf(query, items[limit - 1]?.storageKey)
      const found = await readRanges(reader, ranges, { bucket, names, limit: oneMore, withMetadata })
      items = inOrder([...items, ...found.flat()])
      const full = found.filter(({ length }) => length === oneMore)
      fullRangeEnds.push(...full.map((range) => range.at(-1)!.storageKey))
    }

    const last = items[limit - 1]?.storageKey
    if (last === undefined) return items
    const page = items.filter(({ storageKey }) => compareBytes(storageKey, last) <= 0)
    if (!fullRangeEnds.includes(last)) return page
    const withLastName: StoredItem[] = []
    for (const ranges of COMMANDS) {
      const names = { $gte: last, $lte: last }
      const all = await readRanges(reader, ranges, { bucket, names, limit: null, withMetadata })
      withLastName.push(...all.flat())
    }
    return inOrder([...page, ...withLastName])
  }
}

function namesOf(query: ListStoredQuery, last: string | undefined): NameRange {
  const { $lt, ...start } = rangeOfNames(query)
  if (last !== undefined) return { ...start, $lte: last }
  return { ...start, ...($lt !== undefined && { $lt }) }
}

/** Sorts items by name. If the same attempt was read twice under one name, the later state remains. */
function inOrder(items: readonly StoredItem[]): StoredItem[] {
  const byAttempt = new Map<string, StoredItem>()
  for (const item of items) {
    const { key, attemptId } = item.object ?? item.leftover
    byAttempt.set(JSON.stringify([item.storageKey, key, attemptId]), item)
  }
  return [...byAttempt.values()].sort((a, b) => compareBytes(a.storageKey, b.storageKey))
}

interface RangesQuery {
  readonly bucket: string
  readonly names: NameRange
  /** Maximum items of each range; `null` for all. */
  readonly limit: number | null
  readonly withMetadata: boolean
}

/** Reads the beginning of ranges by one command. Returns the items of each range. */
async function readRanges(
  reader: Reader,
  ranges: readonly StoredRange[],
  { bucket, names, limit, withMetadata }: RangesQuery,
): Promise<StoredItem[][]> {
  const { objects, leftovers } = reader.namespace
  const [first, ...others] = ranges.map((range, position) => {
    const { stages, index } = readingOf(range, bucket, names)
    const limited = limit === null ? [] : [{ $limit: limit }]
    // A document has both rows of its key.
    const isLean = !withMetadata && range.source !== 'leftover'
    const fields = isLean ? [{ $project: { 'active.metadata': 0, 'pending.metadata': 0 } }] : []
    const pipeline: Document[] = [
      ...stages,
      ...limited,
      ...fields,
      { $addFields: { range: { $literal: position } } },
    ]
    return { collection: range.source === 'leftover' ? leftovers : objects, pipeline, index }
  })
  const unions = others.map(({ collection, pipeline }) => ({
    $unionWith: { coll: collection.collectionName, pipeline },
  }))
  const { collection, pipeline, index } = first!
  const batchSize = limit === null ? 1000 : ranges.length * limit + 1
  const options = { hint: index, batchSize }
  const all = [...pipeline, ...unions]
  const documents = await aggregate<Stored>(reader, collection, all, options)
  return ranges.map((range, position) =>
    documents
      .filter((document) => document['range'] === position)
      .map((document) => readItem(range, document)),
  )
}

/**
 * A range of an index, in the order of the names: of things with a storage key or of those without one, which are null
 * in the index by storage key, and in the order of their `_id` there.
 */
export interface StoredRange {
  readonly source: 'active' | 'pending' | 'leftover'
  readonly nameIs: 'key' | 'storageKey'
}

/** Builds the stages that read a range in order, and the name of its index. */
function readingOf(
  { source, nameIs }: StoredRange,
  bucket: string,
  names: NameRange,
): { readonly stages: Document[]; readonly index: string } {
  const isRow = source !== 'leftover'
  const [storageKey, at] = isRow ? [`${source}.storageKey`, '_id'] : ['storageKey', 'at']
  const range =
    nameIs === 'storageKey'
      ? { [storageKey]: names, [at]: rangeOfBucket(bucket) }
      : { [storageKey]: null, [at]: keysOf(bucket, names) }
  return {
    stages: [
      // The indexes of rows are partial, so the filter repeats the condition.
      { $match: { ...(isRow && { [`${source}.id`]: { $exists: true } }), ...range } },
      // Only the index by storage key has this order. Inside `$unionWith` it can't be named.
      { $sort: { [storageKey]: 1, [at]: 1 } },
    ],
    index: isRow ? `${source}_by_storage` : 'by_storage',
  }
}

function keysOf(bucket: string, names: NameRange): object {
  const bounds = Object.entries(names).map(([bound, key]) => [bound, keyId({ bucket, key })] as const)
  const { $lt } = rangeOfBucket(bucket)
  return { $lt, ...Object.fromEntries(bounds) }
}

function readItem({ source }: StoredRange, document: Stored): StoredItem {
  if (source === 'leftover') {
    const leftover = readLeftover(document as LeftoverDocument)
    return { storageKey: leftover.storageKey ?? leftover.key, leftover }
  }
  const object = rowOf(document as KeyDocument, source)!
  return { storageKey: object.storageKey ?? object.key, object }
}
