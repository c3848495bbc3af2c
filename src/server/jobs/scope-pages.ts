import type { StorageObjectStore } from '../../core/store/contract.js'
import type { Leftover, ObjectStatus, StorageObject } from '../../core/store/records.js'
import { pagesOf } from './pages.js'

const PAGE = 1000

/**
 * Yields the rows of a scope in one state, newest first, without metadata. Rows may leave the scope meanwhile: a cursor is a
 * position in the order of ids, so no other row is missed. Reads from the primary, because a replica may not have every row yet.
 */
export async function* rowsOfScope(
  objects: StorageObjectStore,
  scope: string,
  status: ObjectStatus,
): AsyncGenerator<readonly StorageObject[], void> {
  let cursor: string | undefined
  do {
    const page = await objects.listByScope({
      ...{ scope, status, cursor, limit: PAGE },
      withMetadata: false,
      fromPrimary: true,
    })
    yield page.objects
    cursor = page.nextCursor
  } while (cursor !== undefined)
}

/** Yields the leftovers of a scope, oldest first, whether they are due or not. */
export function leftoversOfScope(
  objects: StorageObjectStore,
  scope: string,
): AsyncGenerator<readonly Leftover[], void> {
  return pagesOf<Leftover>((after) => objects.listLeftovers({ scope, after, limit: PAGE }))
}
