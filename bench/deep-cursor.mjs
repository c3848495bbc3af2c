/** Returns the cursor after the first `depth` rows of a listing, or `null` for its start. */
export async function cursorAfter(store, filter, depth) {
  let cursor = null
  for (let left = depth; left > 0; left -= 1000) {
    const page = await store.listByScope({ ...filter, cursor, limit: Math.min(left, 1000) })
    cursor = page.nextCursor
  }
  return cursor
}
