import { vi } from 'vitest'

export const SECOND = 1000

/** Advances fake timers until the call settles. Resolves to the fake time that passed, in milliseconds. */
export async function timeUntilSettled(call: Promise<unknown>): Promise<number> {
  const start = Date.now()
  let elapsed = 0
  let settled = false
  const done = () => (settled = true)
  call.then(done, done)
  while (!settled && Date.now() - start < 4 * SECOND) {
    // Lets work without timers finish first.
    await new Promise((resolve) => setImmediate(resolve))
    if (settled || vi.getTimerCount() === 0) continue
    vi.advanceTimersByTime(50)
    elapsed += 50
  }
  return elapsed
}
