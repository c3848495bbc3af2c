import { unlessAborted } from '../on-abort.js'
import type { StoreDriver } from './driver.js'
import { iterateQuery, type IterateByScopeInput } from './inputs/index.js'
import type { StorageObject } from './records.js'

/** Few enough that pages with the most metadata take little memory. */
const PAGE_SIZE = 500

/** Implements `StorageObjectStore.iterateByScope` by pages, each of which begins after the last row of the one before. */
export async function* iterateByScope(
  driver: Pick<StoreDriver, 'list'>,
  input: IterateByScopeInput,
): AsyncGenerator<StorageObject, void, undefined> {
  const { signal, ...query } = iterateQuery(input)
  for (let before: string | null = null; ;) {
    signal?.throwIfAborted()
    const rows: StorageObject[] = await unlessAborted(
      signal,
      driver.list({ ...query, before, limit: PAGE_SIZE }),
    )
    for (const row of rows) {
      yield row
      signal?.throwIfAborted()
    }
    if (rows.length < PAGE_SIZE) return
    before = rows.at(-1)!.id
  }
}
