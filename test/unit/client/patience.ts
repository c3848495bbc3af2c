import { vi } from 'vitest'

export const SECOND = 1000

/** Lets the clock run, one timer after the other, until the call has come to its end; resolves to the time that took. For fake timers. */
export async function timeUntilSettled(call: Promise<unknown>): Promise<number> {
  const start = Date.now()
  let elapsed = 0
  let settled = false
  const done = () => (settled = true)
  call.then(done, done)
  while (!settled && Date.now() - start < 4 * SECOND) {
    // Work that takes no time of the clock comes to its end first.
    await new Promise((resolve) => setImmediate(resolve))
    if (settled || vi.getTimerCount() === 0) continue
    vi.advanceTimersByTime(50)
    elapsed += 50
  }
  return elapsed
}
