import { vi } from 'vitest'
import { isServing } from './server.js'

export const SECOND = 1000

/**
 * Advances fake timers until the call settles, but only while no server works on a request, so that no time limit ends what is
 * merely slow. `isBusy` replaces this condition where the server itself pauses. Resolves to the fake time that passed, in milliseconds.
 */
export async function timeUntilSettled(call: Promise<unknown>, isBusy = isServing): Promise<number> {
  let elapsed = 0
  let settled = false
  const done = () => (settled = true)
  call.then(done, done)
  while (!settled) {
    // Lets work without timers finish first.
    await new Promise((resolve) => setImmediate(resolve))
    if (settled || isBusy() || vi.getTimerCount() === 0) continue
    vi.advanceTimersByTime(50)
    elapsed += 50
  }
  return elapsed
}
