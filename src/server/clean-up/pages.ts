/** The pages of a list, one after the other, until one is empty; each is asked for by the last item of the one before. */
export async function* pagesOf<Item>(
  page: (after: Item | null) => Promise<readonly Item[]>,
): AsyncGenerator<readonly Item[], void> {
  let after: Item | null = null
  for (;;) {
    const items: readonly Item[] = await page(after)
    const last: Item | undefined = items.at(-1)
    if (last === undefined) return
    yield items
    after = last
  }
}
