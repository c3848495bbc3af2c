import { afterEach, beforeEach, expect, vi } from 'vitest'
import { SECOND, type ManualClock } from '../../conformance/clock.js'

/** Replaces the timers in every test of a suite, and expects that the server leaves none, because it would keep a process alive. */
export function expectNoTimersLeft(): void {
  let timers = { left: new Map<unknown, string>(), stopRecording: () => {} }
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    timers = recordServerTimers()
  })
  afterEach(() => {
    timers.stopRecording()
    vi.useRealTimers()
    expect([...timers.left.values()]).toEqual([])
  })
}

/** Does the same, and returns a function that moves the clock and the timers together. */
export function withFakeTimers(clock: () => ManualClock) {
  expectNoTimersLeft()
  return async (seconds: number, step = 1): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += step) {
      clock().advance(step * SECOND)
      await vi.advanceTimersByTimeAsync(step * SECOND)
    }
  }
}

/**
 * Returns the timers that the server starts from now on and that neither ran nor were stopped, with the place that started each. Test files share
 * a process, so what another file left unread, such as a body, may start timers too.
 */
function recordServerTimers() {
  const left = new Map<unknown, string>()
  const { setTimeout: start, clearTimeout: stop } = globalThis
  const recorded = (action: () => void, milliseconds?: number) => {
    const timer = start(() => {
      left.delete(timer)
      action()
    }, milliseconds)
    const stack = new Error('The timer was started here').stack ?? ''
    if (stack.includes('server/waits')) left.set(timer, stack)
    return timer
  }
  const stopRecorded = (timer: ReturnType<typeof start>) => {
    left.delete(timer)
    stop(timer)
  }
  Object.assign(globalThis, { setTimeout: recorded, clearTimeout: stopRecorded })
  // Vitest restores only the functions that it has set.
  const stopRecording = () => void Object.assign(globalThis, { setTimeout: start, clearTimeout: stop })
  return { left, stopRecording }
}
