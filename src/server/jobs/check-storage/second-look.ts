import type { ListedBytes } from '../../../core/object-storage.js'
import type { StoredItem } from '../../../core/store/records.js'
import type { StorageDifference } from './check-options.js'
import { differencesOf, isSameDifference, pairs, type Pair } from './comparison.js'
import { entriesWithin, PAGE_SIZE, type ListEntries } from './listing.js'

/** The two sides of the comparison. */
export interface Sides {
  readonly bucket: string
  readonly listBucket: ListEntries<ListedBytes>
  readonly listStored: ListEntries<StoredItem>
}

/**
 * Returns the differences that were not merely in flight. The listings of a first look are read at different times, and traffic
 * changes both sides. So each difference is looked at again: in the bucket first, then in the database, then in the bucket.
 *
 * - Bytes are uploaded before their row becomes active, and removed after their row has ended. So if the bucket has none, and
 *   the same attempt is still active later, they are missing.
 * - A reservation is recorded before its bytes are written, and something names them until they are removed. So if nothing
 *   names them, and the bucket still has them later, they are unrecorded.
 *
 * @param compared What the first look compared, in order. `start` is the name before it.
 */
export async function confirmedDifferences(
  { bucket, listBucket, listStored }: Sides,
  { start, compared }: { readonly start: string | null; readonly compared: readonly Pair[] },
  oldest: Date,
): Promise<readonly StorageDifference[]> {
  const first = compared.map((pair) => differencesOf(bucket, pair, oldest))
  const from = first.findIndex(({ length }) => length > 0)
  if (from === -1) return []
  const to = first.findLastIndex(({ length }) => length > 0)
  const stretch = {
    after: compared[from - 1]?.name ?? start,
    last: compared[to]!,
    limit: Math.min(to - from + 2, PAGE_SIZE),
  }

  const found = first.flat()
  const wanted = new Set(found.map(({ storageKey }) => storageKey))
  const items = await entriesWithin(listBucket, stretch, wanted)
  const stored = await entriesWithin(listStored, stretch, wanted)
  const again = pairs(items, stored).flatMap((pair) => differencesOf(bucket, pair, oldest))
  const confirmed = found.filter((one) => again.some((other) => isSameDifference(one, other)))

  const unrecorded = confirmed.filter(({ kind }) => kind === 'unrecorded')
  if (unrecorded.length === 0) return confirmed
  const rest = new Map(
    (await entriesWithin(listBucket, stretch, wanted)).map(({ name, value }) => [name, value]),
  )
  return confirmed.filter((one) => {
    if (one.kind !== 'unrecorded') return true
    const item = rest.get(one.storageKey)
    return item !== undefined && isSameDifference(one, { ...one, item })
  })
}
