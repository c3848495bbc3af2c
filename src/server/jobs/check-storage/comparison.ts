import type { ListedBytes } from '../../../core/object-storage.js'
import type { StorageObject, StoredItem } from '../../../core/store/records.js'
import type { StorageDifference } from './check-options.js'
import type { Entry, Place } from './listing.js'

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
export function differencesOf(
  bucket: string,
  { name: storageKey, item, stored }: Pair,
  oldest: Date,
): readonly StorageDifference[] {
  const objects = stored.flatMap(({ object }) => object ?? [])
  const active = objects.filter(({ status }) => status === 'active')
  if (item === null) return active.map((object) => ({ kind: 'missing', bucket, storageKey, object }))
  if (stored.length === 0) {
    return item.lastModified <= oldest ? [{ kind: 'unrecorded', bucket, storageKey, item }] : []
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

/** Returns whether a later look found the same difference. */
export function isSameDifference(one: StorageDifference, other: StorageDifference): boolean {
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
