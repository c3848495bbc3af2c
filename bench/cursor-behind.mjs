/** The cursor behind the first `depth` rows of a list; `null` for its start. */
export async function cursorBehind(store, filter, depth) {
  let cursor = null
  for (let left = depth; left > 0; left -= 1000) {
    const page = await store.listByScope({ ...filter, cursor, limit: Math.min(left, 1000) })
    cursor = page.nextCursor
  }
  return cursor
}
