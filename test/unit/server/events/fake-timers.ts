import { afterEach, beforeEach, expect, vi } from 'vitest'
import { SECOND, type ManualClock } from '../../../conformance/clock.js'

/**
 * Replaces the timers in every test of a suite, and expects that none is left, because it would keep a process alive. Returns a
 * function that moves the clock and the timers together.
 */
export function withFakeTimers(clock: () => ManualClock) {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0)
    vi.useRealTimers()
  })
  return async (seconds: number, step = 1): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += step) {
      clock().advance(step * SECOND)
      await vi.advanceTimersByTimeAsync(step * SECOND)
    }
  }
}
