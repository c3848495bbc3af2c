import type { Report } from '../../core/reporter.js'
import { runScript, type RedisClient, type RedisScript, type ScriptAnswer } from './redis-client.js'

/** Milliseconds that a call waits for Redis at most: many times what a Redis nearby takes, and little for a caller once. */
const TIME_LIMIT = 200

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
  /** Stops looking whether Redis is there again. */
  stop(): void
}

export interface RedisLinkOptions {
  readonly redis: RedisClient
  readonly report: Report
  /**
   * What must be done before Redis is relied on again, and shows that it answers. Called until it resolves and `isDone`;
   * after it has resolved once, questions are asked again.
   */
  readonly recover: () => Promise<void>
  readonly isDone: () => boolean
}

export function createRedisLink({ redis, report, recover, isDone }: RedisLinkOptions): RedisLink {
  let isUp = true
  let isRecovering = false
  let isStopped = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let lastReport = -Infinity

  /** Tells the operator, who isn't served by the same sentence for each of a thousand calls. */
  function tell(operation: string, error: Error): void {
    const time = performance.now()
    if (time - lastReport < PAUSE) return
    lastReport = time
    report(error, { operation })
  }

  async function lookAgain(): Promise<void> {
    try {
      do {
        await recover()
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

  return {
    get isUp() {
      return isUp
    },

    async ask({ operation, script, keys, values }) {
      if (!isUp) return null
      let answer: ScriptAnswer
      try {
        answer = await withinLimit(runScript(redis, script, keys, values))
      } catch (cause) {
        isUp = false
        const message = 'Redis failed; until it answers again, usage is read from the database.'
        tell(operation, new Error(message, { cause }))
        if (!isRecovering) {
          isRecovering = true
          void lookAgain()
        }
        return null
      }
      if (answer[0] === 'full') {
        tell(operation, new Error(`Redis takes nothing more, so usage is not cached: ${answer[1]}`))
      }
      return answer
    },

    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

function withinLimit<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // Where this process itself was busy for so long, the answer may lie there already: it is read before this runs.
      setImmediate(() => reject(new Error(`Redis did not answer within ${TIME_LIMIT} ms.`)))
    }, TIME_LIMIT)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
