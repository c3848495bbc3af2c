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
