import { StorageError } from '../../../core/errors.js'
import { isWriteConflict } from './failures.js'
import type { Unreachable } from './topology.js'

/** A call of the store that is in progress, with its deadline. */
export interface Call {
  /** Milliseconds of `performance.now()`. */
  readonly since: number
  /** Whether the deadline has passed. The caller already got an error, so the work must stop. */
  readonly hasTimedOut: boolean
  readonly timedOut: Promise<void>
  /** The last error that was retried. It becomes the cause of a timeout. */
  lastError: unknown
}

export type Deadline = <T>(work: (call: Call) => Promise<T>) => Promise<T>

export interface DeadlineOptions {
  /** Milliseconds, retries included. The driver sets no limit. */
  readonly timeout: number
  /** Whether a call that times out may have taken effect. */
  readonly writes: boolean
  /** Returns why no server accepts writes, if the driver knows. */
  readonly whyUnreachable: () => Unreachable | null
}

/** Limits how long calls take. */
export function createDeadline(options: DeadlineOptions): Deadline {
  const { timeout } = options
  return <T>(work: (call: Call) => Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      let expire = () => {}
      const call = {
        since: performance.now(),
        hasTimedOut: false,
        timedOut: new Promise<void>((done) => (expire = done)),
        lastError: undefined,
      }
      const timer = setTimeout(() => {
        call.hasTimedOut = true
        expire()
        reject(timeoutError(options, call.lastError))
      }, timeout)
      work(call)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer))
    })
}

/** Combines calls that share work. The combination times out with the last of them. */
export function combineCalls(calls: readonly Call[]): Call {
  return {
    since: Math.min(...calls.map(({ since }) => since)),
    get hasTimedOut() {
      return calls.every(({ hasTimedOut }) => hasTimedOut)
    },
    timedOut: Promise.all(calls.map(({ timedOut }) => timedOut)).then(() => {}),
    get lastError() {
      return calls[0]?.lastError
    },
    set lastError(error: unknown) {
      for (const call of calls) call.lastError = error
    },
  }
}

function timeoutError(
  { timeout, writes, whyUnreachable }: DeadlineOptions,
  lastError: unknown,
): StorageError {
  const seconds = `${timeout / 1000} s`
  const wasBlocked = isWriteConflict(lastError)
  // What the driver knows now counts more than an error from before the server went away.
  const unreachable = whyUnreachable()
  const reason = unreachable
    ? `${unreachable.message} The call waited for ${seconds}.`
    : wasBlocked
      ? `Other transactions blocked this call for ${seconds}, or one that another program left open: ` +
        'MongoDB ends those after transactionLifetimeLimitSeconds.'
      : `MongoDB did not respond within ${seconds}. It hangs, or too few members are left for a majority.`
  const message = writes ? `${reason} ${OUTCOME_UNKNOWN}` : reason
  const retryable = unreachable?.retryable === false ? { retryable: false as const } : {}
  const cause = (wasBlocked ? unreachable?.cause : undefined) ?? lastError ?? unreachable?.cause
  return new StorageError('DATABASE_UNAVAILABLE', { message, cause, ...retryable })
}

/** What a caller has to know if a write fails without a response. */
export const OUTCOME_UNKNOWN = 'Whether a write took effect is unknown; retrying with the same id is safe.'

/** The error that stops work whose callers have all timed out. None of them sees it. */
export function abandonedError(cause: unknown): StorageError {
  return new StorageError('DATABASE_UNAVAILABLE', { message: 'Every caller has timed out.', cause })
}

const FIRST_PAUSE = 2
const GROWTH = 1.7
const LONGEST_PAUSE = 100

/**
 * Pauses before a retry, for a random time that grows with the failures, up to 100 milliseconds. From a second on, it gets
 * shorter with the age of the call, so that of those that want the same the oldest tries most often.
 */
export function backOff(failures: number, since = performance.now()): Promise<void> {
  const seconds = (performance.now() - since) / 1000
  const longest = Math.min(
    FIRST_PAUSE * GROWTH ** failures,
    LONGEST_PAUSE / Math.min(Math.max(1, seconds), 4),
  )
  return new Promise((resolve) => setTimeout(resolve, Math.random() * longest))
}
