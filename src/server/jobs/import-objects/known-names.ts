import { utf8Order } from '../../../core/names.js'
import type { ListedBytes } from '../../../core/object-storage.js'
import type { StorageObjectStore } from '../../../core/store/contract.js'
import { receivesBytes } from '../../../core/store/lifecycle/object.js'
import type { ObjectReference, StoredItem } from '../../../core/store/records.js'
import { storedPosition } from '../bucket-pages.js'

/** What the database says about the bytes of one page of a listing. */
export interface KnownNames {
  /** Returns whether something names these bytes already, so that adopting them as this object would change nothing. */
  isKnown(storageKey: string, object: ObjectReference & { readonly scope: string }): boolean
}

export interface PageRange {
  readonly bucket: string
  readonly prefix: string | null
  /** Where the page starts. */
  readonly after: string | null
}

const PAGE_SIZE = 1000

/** Looks up what names the bytes of a page, with one call for up to 1000 names in its range. */
export async function findKnownNames(
  objects: StorageObjectStore,
  items: readonly ListedBytes[],
  { bucket, prefix, after }: PageRange,
): Promise<KnownNames> {
  const wanted = new Set(items.map(({ key }) => key))
  const found = new Map<string, StoredItem[]>()
  const last = items.at(-1)?.key
  let position = storedPosition(after)
  while (last !== undefined) {
    const page = await objects.listStored({ bucket, prefix, after: position, limit: PAGE_SIZE })
    for (const item of page) {
      const { storageKey } = item
      if (wanted.has(storageKey)) found.set(storageKey, [...(found.get(storageKey) ?? []), item])
    }
    const end = page.at(-1)?.storageKey
    if (page.length < PAGE_SIZE || end === undefined || utf8Order(end) >= utf8Order(last)) break
    position = end
  }
  return {
    isKnown: (storageKey, object) =>
      (found.get(storageKey) ?? []).some(
        (item) => item.object === undefined || !receivesBytes(item.object, object),
      ),
  }
}
