import type { Document } from 'mongodb'
import { keyId } from '../../../core/names.js'
import type { StoredItem } from '../../../core/store/records.js'
import type { Stored } from '../connection/namespace.js'
import { rangeOfBucket, rowOf, type KeyDocument } from '../documents/key-document.js'
import { readLeftover, type LeftoverDocument } from '../documents/leftover-document.js'

/**
 * A range of an index that holds things that name bytes, in the order of the names: those with a storage key or those
 * without one, whose names are their keys. The index by storage key has both, because a missing storage key is null
 * there, and the `_id` of a key then gives the order.
 */
export interface StoredRange {
  readonly source: 'active' | 'pending' | 'leftover'
  readonly nameIs: 'key' | 'storageKey'
}

/** A range of names. It has a lower bound. */
export type NameRange = Readonly<Partial<Record<'$gt' | '$gte' | '$lt' | '$lte', string>>>

/** Builds the stages that read a range in order, and the name of its index. */
export function readingOf(
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

/** Returns the range of `_id` of the keys of a bucket in a range of names. */
function keysOf(bucket: string, names: NameRange): object {
  const bounds = Object.entries(names).map(([bound, key]) => [bound, keyId({ bucket, key })] as const)
  const { $lt } = rangeOfBucket(bucket)
  return { $lt, ...Object.fromEntries(bounds) }
}

/** Reads what a document of a range names bytes with. */
export function readItem({ source }: StoredRange, document: Stored): StoredItem {
  if (source === 'leftover') {
    const leftover = readLeftover(document as LeftoverDocument)
    return { storageKey: leftover.storageKey ?? leftover.key, leftover }
  }
  const object = rowOf(document as KeyDocument, source)!
  return { storageKey: object.storageKey ?? object.key, object }
}
