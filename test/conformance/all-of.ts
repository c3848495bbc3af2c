/**
 * Waits until every one has ended, and only then fails with the first that failed: nothing of a test may still be running
 * when the next one begins, perhaps in the same place.
 */
export async function allOf<T>(calls: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(calls)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}
