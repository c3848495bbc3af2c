import { StorageError } from '../../../core/errors.js'
import { isWriteConflict } from './failures.js'

/** A call of the store that is in progress, with its deadline. */
export interface Call {
  /** Whether the deadline has passed. The caller already got an error, so the work must stop. */
  readonly hasTimedOut: boolean
  readonly timedOut: Promise<void>
  /** The last error that was retried. It becomes the cause of a timeout. */
  lastError: unknown
}

export type Deadline = <T>(work: (call: Call) => Promise<T>) => Promise<T>

/** Limits calls to `timeout` milliseconds, retries included. The driver sets no limit. */
export function createDeadline(timeout: number): Deadline {
  return <T>(work: (call: Call) => Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      let expire = () => {}
      const call = {
        hasTimedOut: false,
        timedOut: new Promise<void>((done) => (expire = done)),
        lastError: undefined,
      }
      const timer = setTimeout(() => {
        call.hasTimedOut = true
        expire()
        reject(timeoutError(timeout, call.lastError))
      }, timeout)
      work(call)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer))
    })
}

/** Combines calls that share work. The combination times out with the last of them. */
export function combineCalls(calls: readonly Call[]): Call {
  return {
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

function timeoutError(timeout: number, cause: unknown): StorageError {
  const reason = isWriteConflict(cause)
    ? `Other transactions blocked this call for ${timeout / 1000} s, or one that a killed process left open: ` +
      'MongoDB ends those after transactionLifetimeLimitSeconds.'
    : `MongoDB did not respond within ${timeout / 1000} s.`
  const message = `${reason} Whether a write took effect is unknown; retrying with the same id is safe.`
  return new StorageError('DATABASE_UNAVAILABLE', { message, cause })
}

/** The error that stops work whose callers have all timed out. None of them sees it. */
export function abandonedError(cause: unknown): StorageError {
  return new StorageError('DATABASE_UNAVAILABLE', { message: 'Every caller has timed out.', cause })
}

const FIRST_PAUSE = 2
const GROWTH = 1.7
const LONGEST_PAUSE = 100

/** Pauses before a retry, for a random time that grows with the failures, up to 100 milliseconds. */
export function backOff(failures: number): Promise<void> {
  const longest = Math.min(FIRST_PAUSE * GROWTH ** failures, LONGEST_PAUSE)
  return new Promise((resolve) => setTimeout(resolve, Math.random() * longest))
}
