/** A chunk is split when it reaches this size. An insertion moves half of it on average. */
const MAX_CHUNK = 512

interface Chunk<V> {
  keys: string[]
  values: V[]
}

/**
 * A map sorted by key, in the order of UTF-16 code units: see `utf8Order` and `datePosition`. Setting and deleting take
 * O(log n) comparisons and a move within one chunk, reading a range O(log n) plus its length.
 */
export class SortedMap<V> {
  #chunks: Chunk<V>[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: string): V | undefined {
    const chunk = this.#chunks[this.#chunkFor(key)]
    const index = chunk ? firstFrom(chunk.keys, key) : 0
    return chunk?.keys[index] === key ? chunk.values[index] : undefined
  }

  set(key: string, value: V): void {
    const at = this.#chunkFor(key)
    const chunk = this.#chunks[at]
    if (!chunk) {
      this.#chunks.push({ keys: [key], values: [value] })
      this.#size++
      return
    }
    const index = firstFrom(chunk.keys, key)
    if (chunk.keys[index] === key) {
      chunk.values[index] = value
      return
    }
    chunk.keys.splice(index, 0, key)
    chunk.values.splice(index, 0, value)
    this.#size++
    if (chunk.keys.length >= MAX_CHUNK) this.#split(at, chunk)
  }

  /** Returns whether the entry existed. */
  delete(key: string): boolean {
    const at = this.#chunkFor(key)
    const chunk = this.#chunks[at]
    if (!chunk) return false
    const index = firstFrom(chunk.keys, key)
    if (chunk.keys[index] !== key) return false
    chunk.keys.splice(index, 1)
    chunk.values.splice(index, 1)
    if (chunk.keys.length === 0) this.#chunks.splice(at, 1)
    this.#size--
    return true
  }

  /** Returns up to `limit` values with `after < key <= upTo`, in ascending order. `null` means no bound. */
  ascending(after: string | null, upTo: string | null, limit: number): V[] {
    const found: V[] = []
    let at = after === null ? 0 : this.#chunkFor(after)
    const first = this.#chunks[at]?.keys ?? []
    let index = after === null ? 0 : firstFrom(first, after)
    if (first[index] === after) index++
    for (; at < this.#chunks.length; at++, index = 0) {
      const { keys, values } = this.#chunks[at]!
      for (; index < keys.length; index++) {
        if (found.length === limit || (upTo !== null && keys[index]! > upTo)) return found
        found.push(values[index]!)
      }
    }
    return found
  }

  /** Returns up to `limit` values with `key < before`, in descending order. `null` starts at the last entry. */
  descending(before: string | null, limit: number): V[] {
    const found: V[] = []
    let at = before === null ? this.#chunks.length - 1 : this.#chunkFor(before)
    let index = before === null ? null : firstFrom(this.#chunks[at]?.keys ?? [], before) - 1
    for (; at >= 0; at--, index = null) {
      const chunk = this.#chunks[at]
      if (!chunk) return found
      for (let i = index ?? chunk.keys.length - 1; i >= 0; i--) {
        if (found.length === limit) return found
        found.push(chunk.values[i]!)
      }
    }
    return found
  }

  #chunkFor(key: string): number {
    let low = 0
    let high = this.#chunks.length - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (this.#chunks[middle]!.keys[0]! <= key) low = middle
      else high = middle - 1
    }
    return low
  }

  #split(at: number, chunk: Chunk<V>): void {
    // New ids are usually the greatest, so the last chunk stays nearly full when it is split.
    const from = at === this.#chunks.length - 1 ? MAX_CHUNK - 1 : MAX_CHUNK >>> 1
    this.#chunks.splice(at + 1, 0, { keys: chunk.keys.splice(from), values: chunk.values.splice(from) })
  }
}

/** Returns the index of the first key that is not less. */
function firstFrom(keys: readonly string[], key: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keys[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}

/** The start of the year 1, the earliest date of a row or a bound. */
const YEAR_ONE = -62_135_596_800_000
const DIGITS = 15

function timeKey(date: Date): string {
  return String(date.getTime() - YEAR_ONE).padStart(DIGITS, '0')
}

/** Returns the sort key of a row in a list that is ordered by a date, then by id. */
export function datePosition(date: Date, id: string): string {
  return `${timeKey(date)}/${id}`
}

/** Returns the sort key after everything of that date. */
export function endOfDate(date: Date): string {
  return `${timeKey(date)}/~`
}
