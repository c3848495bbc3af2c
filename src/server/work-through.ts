/**
 * Calls `work` for each item of each page in order, several at once, until one returns `false` or a page can't be read. The next page is
 * read as soon as a place is free. Completes what is in progress, and rejects with the first error.
 */
export async function workThrough<Item>(
  pages: AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>,
  concurrency: number,
  work: (item: Item) => Promise<boolean>,
): Promise<void> {
  const lists = Symbol.asyncIterator in pages ? pages[Symbol.asyncIterator]() : pages[Symbol.iterator]()
  // All workers take their items from the same page.
  let items: Iterator<Item> = [].values()
  let reading: Promise<boolean> | null = null
  let goesOn = true

  async function readPage(): Promise<boolean> {
    const page = await lists.next()
    if (page.done) return false
    items = page.value.values()
    reading = null
    return true
  }

  async function worker(): Promise<void> {
    while (goesOn) {
      const item = items.next()
      if (!item.done) {
        if (!(await work(item.value))) goesOn = false
      } else if (!(await (reading ??= readPage()))) return
    }
  }

  const ends = await Promise.allSettled(Array.from({ length: concurrency }, worker))
  await lists.return?.()
  const failure = ends.find((end) => end.status === 'rejected')
  if (failure) throw failure.reason
}
