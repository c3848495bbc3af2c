const FIRST_WAIT = 1000
const LONGEST_WAIT = 60 * 60 * 1000

/**
 * Returns when to try an event again after this many attempts. The wait doubles up to an hour. Half of it is random, so events
 * that failed together are not all retried together.
 */
export function retryTime(attempts: number, now: Date): Date {
  const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempts - 1))
  return new Date(now.getTime() + Math.ceil(wait * (0.5 + Math.random() / 2)))
}
