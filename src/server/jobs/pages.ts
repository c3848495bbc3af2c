import { StorageError } from '../../core/errors.js'
import { compareBytes } from '../../core/names.js'
import {
  PROBE_PREFIX,
  type BytesPage,
  type ListBytesInput,
  type ObjectStorage,
} from '../../core/object-storage.js'
import type { OptionChecks } from '../../core/option-checks.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import type { ObjectStatus, StorageObject } from '../../core/store/records.js'

export const PAGE_SIZE = 1000

/** Yields the pages of a list up to the first empty one. `list` is called with the last item of the previous page. */
export async function* pagesOf<Item>(
  list: (after: Item | null) => Promise<readonly Item[]>,
): AsyncGenerator<readonly Item[], void> {
  let after: Item | null = null
  for (;;) {
    const items: readonly Item[] = await list(after)
    const last: Item | undefined = items.at(-1)
    if (last === undefined) return
    yield items
    after = last
  }
}

/** Yields the rows of a scope, newest first, from the primary. Rows that leave meanwhile hide no other: a cursor is a position. */
export async function* rowsOfScope(
  objects: StorageObjectStore,
  scope: string,
  status: ObjectStatus,
): AsyncGenerator<readonly StorageObject[], void> {
  let cursor: string | undefined
  do {
    const page = await objects.listByScope({
      ...{ scope, status, cursor, limit: PAGE_SIZE },
      withMetadata: false,
      fromPrimary: true,
    })
    yield page.objects
    cursor = page.nextCursor
  } while (cursor !== undefined)
}

export type ListBucket = NonNullable<ObjectStorage['list']>

/**
 * Returns the `list` of a storage without what `verify` writes. Rejects if keys are not in byte order: comparing listings or going on
 * after a key would be wrong, or never end. @throws TypeError if there is no `list`.
 */
export function listInOrder(checks: OptionChecks, storage: ObjectStorage): ListBucket {
  const list = storage.list?.bind(storage)
  if (!list) throw checks.error('the storage must implement list().')
  return async (input) => {
    const page = await list(input)
    const ends = page.next === null || page.next === page.items.at(-1)?.key ? [] : [page.next]
    let previous = input.after ?? null
    for (const key of [...page.items.map(({ key }) => key), ...ends]) {
      if (previous !== null && compareBytes(key, previous) <= 0) throw outOfOrder(input.bucket, key, previous)
      previous = key
    }
    return { ...page, items: page.items.filter(({ key }) => !key.startsWith(PROBE_PREFIX)) }
  }
}

function outOfOrder(bucket: string, key: string, previous: string): StorageError {
  const [name, one, other] = [bucket, key, previous].map((text) => JSON.stringify(text))
  const message =
    `Bucket ${name} does not list its keys in byte order (got ${one} after ${other}), ` +
    'so it can be neither imported nor compared. See docs/existing-buckets.md.'
  return new StorageError('STORAGE_UNAVAILABLE', { message, retryable: false })
}

export interface BucketPagesInput<Page> extends Omit<ListBytesInput, 'limit' | 'signal'> {
  readonly list: ListBucket
  /** Called with each page before it is yielded. `after` is where the page starts. */
  readonly prepare: (items: BytesPage['items'], after: string | null) => Promise<Page>
  readonly signal: AbortSignal | null
}

/** Yields pages of up to 1000, and prepares the next one while its reader works on the current one. Ends when the signal aborts. */
export async function* bucketPages<Page>(input: BucketPagesInput<Page>): AsyncGenerator<Page, void> {
  const { list, prepare, bucket, prefix, signal } = input

  async function fetchPage(after: string | null) {
    const { items, next } = await list({ bucket, prefix, after, limit: PAGE_SIZE, ...(signal && { signal }) })
    return { page: await prepare(items, after), next }
  }

  let fetching = fetchPage(input.after ?? null)
  for (;;) {
    const fetched = await fetching.catch((error: unknown) => {
      if (signal?.aborted) return null
      throw error
    })
    if (!fetched) return
    const { page, next } = fetched
    if (next === null || signal?.aborted) {
      yield page
      return
    }
    fetching = fetchPage(next)
    const settled = Promise.allSettled([fetching])
    let isRead = false
    try {
      yield page
      isRead = true
    } finally {
      // A reader that stops early must not leave a call behind.
      if (!isRead) await settled
    }
  }
}

/** Returns an equal or earlier position for the database, which stores no NUL characters. */
export function storedPosition(after: string | null): string | null {
  return after?.split('\0')[0] || null
}
