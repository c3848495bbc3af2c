import { detached } from '../../core/detached.js'
import type { Report } from '../../core/reporter.js'
import { runScript, type RedisClient, type ScriptCall, type ScriptResult } from './redis-client.js'

/** Milliseconds between two probes of a failed Redis, and the minimum between two reports to the operator. */
const PAUSE = 1000

/** Milliseconds between two reminders that invalidations wait for Redis: meanwhile, other processes may use what it has. */
const REMINDER = 60_000

export interface CircuitBreakerOptions {
  readonly redis: RedisClient
  /** Maximum milliseconds that a call waits for Redis. */
  readonly timeout: number
  readonly report: Report
  /** Probes Redis and brings it up to date, until it resolves, within the timeout, and `isDone` returns `true`. */
  readonly recover: () => Promise<void>
  readonly isDone: () => boolean
}

/** Runs scripts in Redis. After a failure or a timeout, no further call waits for Redis until it has recovered. */
export function createCircuitBreaker({ redis, timeout, report, recover, isDone }: CircuitBreakerOptions) {
  let isUp = true
  let isRecovering = false
  let isStopped = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let lastReport = -Infinity
  let delayedReport: ReturnType<typeof setTimeout> | undefined
  let lastFailure: unknown
  let reminder: ReturnType<typeof setInterval> | undefined

  /** Reports at most one error a second. Of the errors within a second, the last one is reported at its end. */
  function reportThrottled(operation: string, error: Error): void {
    clearTimeout(delayedReport)
    const wait = lastReport + PAUSE - performance.now()
    if (wait > 0) {
      delayedReport = setTimeout(() => reportThrottled(operation, error), wait)
      delayedReport.unref()
      return
    }
    lastReport = performance.now()
    report(error, { operation })
  }

  /** Does not wait for a probe, because a Redis that hangs ends none. */
  function remind(): void {
    if (isDone()) return
    const message =
      'Redis still fails, so it misses writes of this process. Other processes may read older usages from it.'
    reportThrottled('usageCache.forget', new Error(message, { cause: lastFailure }))
  }

  async function probe(): Promise<void> {
    try {
      do {
        const start = performance.now()
        await recover()
        // Redis responds, but calls would still time out.
        if (performance.now() - start > timeout) throw new Error('too slow')
        isUp = true
      } while (!isDone())
      isRecovering = false
      clearInterval(reminder)
    } catch (error) {
      // Not reported: the failure that started the recovery was.
      isUp = false
      lastFailure = error
      if (isStopped) return
      timer = setTimeout(() => void probe(), PAUSE)
      // The timer must not keep the process alive.
      timer.unref()
    }
  }

  /** Calls `recover` again, for all callers: now, or at the next probe if Redis is down. */
  function recoverAgain(): void {
    if (isRecovering) return
    isRecovering = true
    detached(() => {
      void probe()
      if (isStopped) return
      reminder = setInterval(remind, REMINDER)
      reminder.unref()
    })
  }

  return {
    get isUp() {
      return isUp
    },

    /** Runs a script. Returns `null` if it was not run or failed; reports a failure of this operation. Never rejects. */
    async run(operation: string, call: ScriptCall): Promise<ScriptResult | null> {
      if (!isUp) return null
      let result: ScriptResult
      try {
        result = await within(timeout, runScript(redis, call))
      } catch (cause) {
        isUp = false
        lastFailure = cause
        const message = 'Redis failed. Usage is read from the database until Redis responds again.'
        reportThrottled(operation, new Error(message, { cause }))
        recoverAgain()
        return null
      }
      if (result[0] === 'full') {
        reportThrottled(operation, new Error(`Redis refused a write, so usage is not cached: ${result[1]}`))
      }
      return result
    },

    recoverAgain,

    stop() {
      isStopped = true
      clearTimeout(timer)
      clearTimeout(delayedReport)
      clearInterval(reminder)
    },
  }
}

function within<T>(timeout: number, result: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // If this process was busy, the response may have arrived already. It is read before this callback runs.
      setImmediate(() => reject(new Error(`Redis did not respond within ${timeout} ms.`)))
    }, timeout)
    result.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
