import { utf8Order } from '../../core/names.js'
import type { BytesPage, ListBytesInput } from '../../core/object-storage.js'

export interface BucketPagesInput<Page> extends Omit<ListBytesInput, 'limit' | 'signal'> {
  readonly list: (input: ListBytesInput) => Promise<BytesPage>
  /** Called with each page before it is yielded. `after` is where the page starts. */
  readonly prepare: (items: BytesPage['items'], after: string | null) => Promise<Page>
  readonly signal: AbortSignal | null
}

const PAGE_SIZE = 1000

/**
 * Yields what a bucket lists, in pages of up to 1000. The next page is listed and prepared while its reader works on the current
 * one, so two pages are in memory. Ends when the signal aborts.
 *
 * @throws Error if a page doesn't continue the previous one, which would repeat forever.
 */
export async function* bucketPages<Page>(input: BucketPagesInput<Page>): AsyncGenerator<Page, void> {
  const { list, prepare, bucket, prefix, signal } = input

  async function fetchPage(after: string | null) {
    const { items, next } = await list({ bucket, prefix, after, limit: PAGE_SIZE, ...(signal && { signal }) })
    if (next !== null && utf8Order(next) <= utf8Order(after ?? '')) {
      throw new Error(
        `The storage's list must return a next after ${JSON.stringify(after)} (got ${JSON.stringify(next)}).`,
      )
    }
    return { page: await prepare(items, after), next }
  }

  let fetching = fetchPage(input.after ?? null)
  for (;;) {
    let fetched: { readonly page: Page; readonly next: string | null }
    try {
      fetched = await fetching
    } catch (error) {
      if (signal?.aborted) return
      throw error
    }
    const { page, next } = fetched
    if (next === null || signal?.aborted) {
      yield page
      return
    }
    fetching = fetchPage(next)
    const settled = fetching.then(
      () => undefined,
      () => undefined,
    )
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

/**
 * Returns where to look up the names after one of the bucket in the database, which stores no NUL characters. The part before one is
 * an earlier position.
 */
export function storedPosition(after: string | null): string | null {
  return after?.split('\0')[0] || null
}
