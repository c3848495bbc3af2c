import type { Report } from '../../core/reporter.js'
import { runScript, type RedisClient, type RedisScript, type ScriptAnswer } from './redis-client.js'

/** Milliseconds between two attempts to reach a Redis that refuses, and between two reports to the operator at least. */
const PAUSE = 1000

export interface Question {
  /** As the operator reads it in a report. */
  readonly operation: string
  readonly script: RedisScript
  readonly keys: readonly string[]
  readonly values: readonly string[]
}

/**
 * The way to Redis. Once it failed to answer in time nobody waits for it any more until it has answered again, so a Redis
 * that hangs delays the calls that are just under way, and no others.
 */
export interface RedisLink {
  readonly isUp: boolean
  /** Resolves to `null`, and never rejects, where there is no answer: nothing was asked, or the operator was told. */
  ask(question: Question): Promise<ScriptAnswer | null>
  /** For what `recover` has to do since its last call: it is called again, at once unless Redis is away. */
  recoverAgain(): void
  /** Stops looking whether Redis is there again. */
  stop(): void
}

export interface RedisLinkOptions {
  readonly redis: RedisClient
  /** Milliseconds that a question waits for its answer at most. */
  readonly timeLimit: number
  readonly report: Report
  /**
   * What must be done before Redis is relied on again, and shows that it answers. Called until it resolves and `isDone`;
   * after it has resolved once within the time limit, questions are asked again.
   */
  readonly recover: () => Promise<void>
  readonly isDone: () => boolean
}

export function createRedisLink({ redis, timeLimit, report, recover, isDone }: RedisLinkOptions): RedisLink {
  let isUp = true
  let isRecovering = false
  let isStopped = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let lastReport = -Infinity
  let heldReport: ReturnType<typeof setTimeout> | undefined

  /** Tells the operator, of a thousand calls that fail alike once, and of what fails within a second the last. */
  function tell(operation: string, error: Error): void {
    clearTimeout(heldReport)
    const wait = lastReport + PAUSE - performance.now()
    if (wait > 0) {
      heldReport = setTimeout(() => tell(operation, error), wait)
      heldReport.unref()
      return
    }
    lastReport = performance.now()
    report(error, { operation })
  }

  async function lookAgain(): Promise<void> {
    try {
      do {
        const start = performance.now()
        await recover()
        // Redis is there, but all who ask it would wait in vain.
        if (performance.now() - start > timeLimit) throw new Error('too slow')
        isUp = true
      } while (!isDone())
      isRecovering = false
    } catch {
      // The operator was told when it began.
      isUp = false
      if (isStopped) return
      timer = setTimeout(() => void lookAgain(), PAUSE)
      // Nobody's program is kept from ending by this.
      timer.unref()
    }
  }

  function recoverAgain(): void {
    if (isRecovering) return
    isRecovering = true
    void lookAgain()
  }

  return {
    get isUp() {
      return isUp
    },

    async ask({ operation, script, keys, values }) {
      if (!isUp) return null
      let answer: ScriptAnswer
      try {
        answer = await within(timeLimit, runScript(redis, script, keys, values))
      } catch (cause) {
        isUp = false
        const message = 'Redis failed; until it answers again, usage is read from the database.'
        tell(operation, new Error(message, { cause }))
        recoverAgain()
        return null
      }
      if (answer[0] === 'full') {
        tell(operation, new Error(`Redis takes nothing more, so usage is not cached: ${answer[1]}`))
      }
      return answer
    },

    recoverAgain,

    stop() {
      isStopped = true
      clearTimeout(timer)
      clearTimeout(heldReport)
    },
  }
}

function within<T>(limit: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // Where this process itself was busy for so long, the answer may lie there already: it is read before this runs.
      setImmediate(() => reject(new Error(`Redis did not answer within ${limit} ms.`)))
    }, limit)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
