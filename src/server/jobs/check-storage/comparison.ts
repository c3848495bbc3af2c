import { utf8Order } from '../../../core/names.js'
import type { ListedBytes } from '../../../core/object-storage.js'
import type { StorageObject, StoredItem } from '../../../core/store/records.js'
import type { ImportedItem } from '../import-selection.js'
import { PAGE_SIZE } from '../pages.js'

/** Something that bucket and database disagree about. */
export type StorageDifference = MissingBytes | ChangedBytes | UnrecordedBytes

interface Difference {
  readonly bucket: string
  /** The key of the bytes in the bucket. */
  readonly storageKey: string
}

/** An active object without bytes. */
export interface MissingBytes extends Difference {
  readonly kind: 'missing'
  readonly object: StorageObject
  readonly item?: undefined
}

/** An active object whose bytes have another size or eTag. If either side has no eTag, only the size is compared. */
export interface ChangedBytes extends Difference {
  readonly kind: 'changed'
  readonly object: StorageObject
  readonly item: ListedBytes
}

/** Bytes that no object, upload or leftover names. */
export interface UnrecordedBytes extends Difference {
  readonly kind: 'unrecorded'
  readonly object?: undefined
  readonly item: ListedBytes
}

/** A place in the byte order of names. */
interface Place {
  readonly name: string
  /** The sort key of the name. */
  readonly order: string
}

interface Entry<T> extends Place {
  readonly value: T
}

interface EntryPage<T> {
  readonly entries: readonly Entry<T>[]
  /** The name after which the next page starts, or `null` at the end. */
  readonly next: string | null
}

/** Lists entries in byte order of their names. Entries of one name are never split between two pages. */
type ListEntries<T> = (after: string | null, limit: number) => Promise<EntryPage<T>>

export function entryOf<T>(name: string, value: T): Entry<T> {
  return { name, order: utf8Order(name), value }
}

/** Reads a listing to its end, and holds at most one page. */
export class Listing<T> {
  readonly #list: ListEntries<T>
  #entries: Entry<T>[] = []
  #next: string | null
  #isComplete = false

  constructor(list: ListEntries<T>, after: string | null) {
    this.#list = list
    this.#next = after
  }

  /** Reads on until something is left of the last page, or nothing follows. */
  async fill(): Promise<void> {
    while (this.#entries.length === 0 && !this.#isComplete) {
      const { entries, next } = await this.#list(this.#next, PAGE_SIZE)
      this.#entries = [...entries]
      this.#isComplete = next === null
      this.#next = next
    }
  }

  /** The last entry that was read, if others follow it. `null` if everything was read. */
  get end(): Place | null {
    return this.#isComplete ? null : (this.#entries.at(-1) ?? null)
  }

  /** Removes and returns the entries up to and including this place, or all of them. */
  takeUpTo(end: Place | null): readonly Entry<T>[] {
    const beyond = end ? this.#entries.findIndex(({ order }) => order > end.order) : -1
    return this.#entries.splice(0, beyond === -1 ? this.#entries.length : beyond)
  }
}

/** Returns the entries with these names in a stretch of a listing. */
async function entriesWithin<T>(
  list: ListEntries<T>,
  { after, last, limit }: { readonly after: string | null; readonly last: Place; readonly limit: number },
  wanted: ReadonlySet<string>,
): Promise<readonly Entry<T>[]> {
  const found: Entry<T>[] = []
  let next: string | null = after
  do {
    const page: EntryPage<T> = await list(next, limit)
    found.push(...page.entries.filter(({ name, order }) => order <= last.order && wanted.has(name)))
    next = page.next
  } while (next !== null && utf8Order(next) < last.order)
  return found
}

/** What bucket and database have under one name. */
export interface Pair extends Place {
  readonly item: ListedBytes | null
  readonly stored: readonly StoredItem[]
}

/** Puts the entries of one stretch together, in byte order of their names. */
export function pairs(
  items: readonly Entry<ListedBytes>[],
  stored: readonly Entry<StoredItem>[],
): readonly Pair[] {
  const byName = new Map<string, { order: string; item: ListedBytes | null; stored: StoredItem[] }>()
  for (const { name, order, value } of items) byName.set(name, { order, item: value, stored: [] })
  for (const { name, order, value } of stored) {
    const pair = byName.get(name)
    if (pair) pair.stored.push(value)
    else byName.set(name, { order, item: null, stored: [value] })
  }
  return [...byName]
    .map(([name, pair]) => ({ name, ...pair }))
    .sort((one, other) => (one.order < other.order ? -1 : 1))
}

/** Returns how bucket and database differ under a name. Bytes that were written after `oldest` are not unrecorded. */
function differencesOf(
  bucket: string,
  { name: storageKey, item, stored }: Pair,
  oldest: Date,
): readonly StorageDifference[] {
  const objects = stored.flatMap(({ object }) => object ?? [])
  const active = objects.filter(({ status }) => status === 'active')
  if (item === null) return active.map((object) => ({ kind: 'missing', bucket, storageKey, object }))
  if (stored.length === 0) {
    // Tools that show a bucket as folders write an empty object for each.
    const isFolder = item.size === 0 && storageKey.endsWith('/')
    return item.lastModified <= oldest && !isFolder ? [{ kind: 'unrecorded', bucket, storageKey, item }] : []
  }
  // An upload that replaces the bytes under the application's own key changes them before it is confirmed.
  if (objects.length > active.length) return []
  return active
    .filter((object) => isChanged(object, item))
    .map((object) => ({ kind: 'changed', bucket, storageKey, object, item }))
}

function isChanged({ size, eTag }: StorageObject, item: ListedBytes): boolean {
  if (size !== item.size) return true
  return eTag !== null && item.eTag !== null && unquoted(eTag) !== unquoted(item.eTag)
}

/** Applications may record an eTag without the quotes that belong to it. */
function unquoted(eTag: string): string {
  return eTag.replace(/^"([^"]*)"$/, '$1')
}

function isSameDifference(one: StorageDifference, other: StorageDifference): boolean {
  return (
    one.kind === other.kind &&
    one.storageKey === other.storageKey &&
    one.object?.attemptId === other.object?.attemptId &&
    one.object?.size === other.object?.size &&
    one.item?.eTag === other.item?.eTag &&
    one.item?.size === other.item?.size &&
    one.item?.lastModified.getTime() === other.item?.lastModified.getTime()
  )
}

/** Returns whether bytes that nothing names are left out. */
export type IgnoreBytes = (item: ImportedItem) => boolean | Promise<boolean>

export interface Sides {
  readonly bucket: string
  readonly listBucket: ListEntries<ListedBytes>
  /** Lists without metadata. */
  readonly listStored: ListEntries<StoredItem>
  readonly listStoredWithMetadata: ListEntries<StoredItem>
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
  {
    bucket,
    listBucket,
    listStoredWithMetadata,
  }: Pick<Sides, 'bucket' | 'listBucket' | 'listStoredWithMetadata'>,
  { start, compared }: { readonly start: string | null; readonly compared: readonly Pair[] },
  oldest: Date,
  ignore: IgnoreBytes,
): Promise<readonly StorageDifference[]> {
  const first: (readonly StorageDifference[])[] = []
  for (const pair of compared) {
    const differences = differencesOf(bucket, pair, oldest)
    const isIgnored =
      differences[0]?.kind === 'unrecorded' && (await ignore({ bucket, ...differences[0].item }))
    first.push(isIgnored ? [] : differences)
  }
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
  const stored = await entriesWithin(listStoredWithMetadata, stretch, wanted)
  const again = pairs(items, stored).flatMap((pair) => differencesOf(bucket, pair, oldest))
  const confirmed = found.flatMap((one) => again.find((other) => isSameDifference(one, other)) ?? [])

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
