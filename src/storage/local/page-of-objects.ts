import { utf8Order } from '../../core/names.js'
import type { BytesPage, ListBytesInput, ListedBytes } from '../../core/object-storage.js'

interface Candidate {
  readonly order: string
  readonly object: ListedBytes
}

/** Returns one page of objects that come in any order. Reads all of them, and keeps at most two pages in memory. */
export async function pageOfObjects(
  objects: AsyncIterable<ListedBytes>,
  { prefix, after, limit, signal }: Omit<ListBytesInput, 'bucket'>,
): Promise<BytesPage> {
  const first = typeof after === 'string' ? utf8Order(after) : null
  // One more than the page shows whether anything follows it.
  const wanted = limit + 1
  let lowest: Candidate[] = []
  let highest: string | null = null
  for await (const object of objects) {
    signal?.throwIfAborted()
    const order = utf8Order(object.key)
    const isOutside = (first !== null && order <= first) || (highest !== null && order > highest)
    if (isOutside || !object.key.startsWith(prefix ?? '')) continue
    lowest.push({ order, object })
    if (lowest.length < 2 * wanted) continue
    lowest = inOrder(lowest).slice(0, wanted)
    highest = lowest.at(-1)!.order
  }
  signal?.throwIfAborted()
  const found = inOrder(lowest).map(({ object }) => object)
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? (items.at(-1)?.key ?? null) : null }
}

function inOrder(candidates: readonly Candidate[]): Candidate[] {
  return [...candidates].sort((one, other) => (one.order < other.order ? -1 : 1))
}
