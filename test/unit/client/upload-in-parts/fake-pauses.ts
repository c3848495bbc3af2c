import { preloadUpload } from '@svc/db/client'
import { afterEach, beforeAll, beforeEach, vi } from 'vitest'
import { timeUntilSettled } from '../fake-time.js'

/** Uses fake timers in all tests of a file, and takes back what they stub. */
export function useFakePauses(): void {
  // Loading it takes time that a test can't advance.
  beforeAll(preloadUpload)
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })
}

/** Resolves to the result of a call, and skips the client's pauses. */
export async function withoutPauses<T>(call: Promise<T>): Promise<T> {
  await timeUntilSettled(call)
  return call
}
