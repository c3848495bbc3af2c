import { utf8Order } from '../../core/names.js'
import type { Leftover, StorageObject } from '../../core/store/records.js'
import type { ListStoredQuery } from '../../core/store/driver.js'
import { endOfName, namesWithin, startOfName } from './name-order.js'
import { SortedMap } from './sorted-map.js'

/** What names bytes: a live row or a leftover. */
export type Naming = StorageObject | Leftover

export function storedName({ storageKey, key }: Naming): string {
  return storageKey ?? key
}

export function isRow(naming: Naming): naming is StorageObject {
  return 'status' in naming
}

/** Returns the sort key within a bucket: by name, then active rows by key, pending rows by key, and leftovers. */
function position(naming: Naming): string {
  const start = startOfName(storedName(naming))
  if (!isRow(naming)) return `${start}2${naming.attemptId}`
  return `${start}${naming.status === 'active' ? 0 : 1}${utf8Order(naming.key)}`
}

/** What names the bytes of each bucket, sorted by name in byte order. */
export class StoredNames {
  readonly #buckets = new Map<string, SortedMap<Naming>>()

  get buckets(): number {
    return this.#buckets.size
  }

  add(naming: Naming): void {
    const bucket = this.#buckets.get(naming.bucket) ?? new SortedMap()
    bucket.set(position(naming), naming)
    this.#buckets.set(naming.bucket, bucket)
  }

  delete(naming: Naming): void {
    const bucket = this.#buckets.get(naming.bucket)
    bucket?.delete(position(naming))
    if (bucket?.size === 0) this.#buckets.delete(naming.bucket)
  }

  /** Returns the first `limit` of those with this name: active rows, then pending ones, each by key, then leftovers. */
  named(bucket: string, name: string, limit: number): Naming[] {
    return this.#buckets.get(bucket)?.ascending(startOfName(name), endOfName(name), limit) ?? []
  }

  page({ bucket, limit, ...range }: ListStoredQuery): Naming[] {
    const names = this.#buckets.get(bucket)
    if (!names) return []
    const { from, upTo } = namesWithin(range)
    const found = names.ascending(from, upTo, limit)
    const last = found.at(-1)
    if (!last) return []
    return [...found, ...names.ascending(position(last), endOfName(storedName(last)), Infinity)]
  }
}
