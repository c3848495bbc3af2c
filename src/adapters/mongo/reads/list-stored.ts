import type { ClientSession, Document } from 'mongodb'
import { compareBytes, endOfPrefix } from '../../../core/names.js'
import type { ListStoredQuery } from '../../../core/store/driver.js'
import type { StoredItem } from '../../../core/store/records.js'
import type { Namespace, Stored } from '../connection/namespace.js'
import { chooseMoment, type Read } from '../connection/reads.js'
import { readingOf, readItem, type NameRange, type StoredRange } from './stored-ranges.js'

/**
 * The ranges that each of the commands for a page reads at one moment.
 *
 * An attempt goes from pending to active to leftover. Reading in this order misses none that goes on meanwhile.
 *
 * The index by storage key has the storage keys of all buckets, so a range of a bucket with few of them could pass many
 * others before it fills a page. Large ranges therefore end where the page ends according to what was read before.
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

/** Lists what names bytes in a bucket, in the order of the names. */
export function listStored(namespace: Namespace, query: ListStoredQuery): Read<StoredItem[]> {
  const { bucket, limit } = query
  // One more than the page, to tell whether a range has more items with the last name of the page.
  const oneMore = limit + 1
  return async (session) => {
    let items: StoredItem[] = []
    const fullRangeEnds: string[] = []
    for (const ranges of COMMANDS) {
      const names = namesOf(query, items[limit - 1]?.storageKey)
      const found = await readRanges(namespace, session, ranges, { bucket, names, limit: oneMore })
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
      withLastName.push(
        ...(await readRanges(namespace, session, ranges, { bucket, names, limit: null })).flat(),
      )
    }
    return inOrder([...page, ...withLastName])
  }
}

function namesOf({ prefix, after }: ListStoredQuery, last: string | undefined): NameRange {
  const first = prefix ?? ''
  const start = after !== null && compareBytes(after, first) >= 0 ? { $gt: after } : { $gte: first }
  if (last !== undefined) return { ...start, $lte: last }
  return { ...start, ...(prefix !== null && { $lt: endOfPrefix(prefix) }) }
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
}

/** Reads the beginning of ranges by one command. Returns the items of each range. */
async function readRanges(
  namespace: Namespace,
  session: ClientSession,
  ranges: readonly StoredRange[],
  { bucket, names, limit }: RangesQuery,
): Promise<StoredItem[][]> {
  const { objects, leftovers } = namespace
  const [first, ...others] = ranges.map((range, position) => {
    const { stages, index } = readingOf(range, bucket, names)
    const limited = limit === null ? [] : [{ $limit: limit }]
    const pipeline: Document[] = [...stages, ...limited, { $addFields: { range: { $literal: position } } }]
    return { collection: range.source === 'leftover' ? leftovers : objects, pipeline, index }
  })
  const unions = others.map(({ collection, pipeline }) => ({
    $unionWith: { coll: collection.collectionName, pipeline },
  }))
  const { collection, pipeline, index } = first!
  const moment = await chooseMoment(namespace, session, collection)
  const cursor = moment.open((options) =>
    collection.aggregate<Stored>([...pipeline, ...unions], {
      ...{ ...options, hint: index },
      batchSize: limit === null ? 1000 : ranges.length * limit + 1,
    }),
  )
  const documents = await cursor.toArray()
  return ranges.map((range, position) =>
    documents
      .filter((document) => document['range'] === position)
      .map((document) => readItem(range, document)),
  )
}
