import { afterEach, beforeEach, vi } from 'vitest'
import { timeUntilSettled } from '../patience.js'

/** No test of the file waits for a pause of the client by the clock on the wall. */
export function useHurriedClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
}

/** What a call comes to when nobody waits for its pauses. */
export async function hurried<T>(call: Promise<T>): Promise<T> {
  await timeUntilSettled(call)
  return call
}
