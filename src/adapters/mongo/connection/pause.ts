const FIRST = 2
const GROWTH = 1.7
const LONGEST = 100

/** Lets others get ahead: at random, and longer from one failure to the next, up to a tenth of a second. */
export function pauseAfter(failures: number): Promise<void> {
  const longest = Math.min(FIRST * GROWTH ** failures, LONGEST)
  return new Promise((resolve) => setTimeout(resolve, Math.random() * longest))
}
