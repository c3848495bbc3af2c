import type { Leftover } from '../../core/store/records.js'

/** How many leftovers of a scope a run settles before it has come to those of all others. */
const FIRST_SHARE = 100

/** How many scopes a run remembers. It forgets the counts of those that it has not met for the longest time. */
const MAX_SCOPES = 10_000

/** Yields due leftovers once each: a share of every scope, then the rest. `pagesFrom` lists again what may still be due. */
export async function* fairShares(
  pagesFrom: (after: Leftover | null) => AsyncIterable<readonly Leftover[]>,
): AsyncGenerator<readonly Leftover[], void> {
  const counts = new Map<string | null, number>()
  /** The scopes that have more, with the first leftover beyond their share. */
  const rests = new Map<string | null, Leftover>()
  let beforeRests: Leftover | null = null

  function isInShare(leftover: Leftover): boolean {
    const { scope } = leftover
    if (rests.has(scope)) return false
    const count = (counts.get(scope) ?? 0) + 1
    // Moves the scope to the end.
    counts.delete(scope)
    counts.set(scope, count)
    if (counts.size > MAX_SCOPES) counts.delete(counts.keys().next().value!)
    if (count > FIRST_SHARE && rests.size < MAX_SCOPES) rests.set(scope, leftover)
    else if (rests.size === 0) beforeRests = leftover
    return !rests.has(scope)
  }

  function isInRest(leftover: Leftover): boolean {
    const first = rests.get(leftover.scope)
    return first !== undefined && !isBefore(leftover, first)
  }

  for await (const page of pagesFrom(null)) yield page.filter(isInShare)
  if (rests.size === 0) return
  for await (const page of pagesFrom(beforeRests)) yield page.filter(isInRest)
}

/** Returns whether a leftover comes before another one in the order of `listLeftovers({ dueBefore })`. */
function isBefore(one: Leftover, other: Leftover): boolean {
  const [time, otherTime] = [one.dueAt?.getTime() ?? -Infinity, other.dueAt?.getTime() ?? -Infinity]
  return time === otherTime ? one.attemptId < other.attemptId : time < otherTime
}
