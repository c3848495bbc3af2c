/** Calls `work` for each item in order, several at once, until one returns `false`. Completes what is in progress by then. */
export async function workThrough<Item>(
  items: readonly Item[],
  concurrency: number,
  work: (item: Item, index: number) => Promise<boolean>,
): Promise<void> {
  // All workers take their items from one iterator.
  const entries = items.entries()
  let goesOn = true
  const worker = async () => {
    for (const [index, item] of entries) {
      if (!(await work(item, index))) goesOn = false
      if (!goesOn) return
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}
