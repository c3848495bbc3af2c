import { causesOf } from './causes.js'
import { StorageError } from './errors.js'
import { RecentEntries } from './recent-entries.js'
import type { StoredEvent } from './store/events.js'

/** Where an error happened: the operation, such as `upload.confirm`, and the request, if there was one. */
export interface ErrorContext {
  readonly request?: Request
  readonly operation: string
  /** The event whose handler failed. */
  readonly event?: StoredEvent
}

/**
 * Called with every 5xx error, every error thrown by a guard, a hook or the stream of a request's body, and uploads whose bytes the
 * storage has refused. What it throws is ignored.
 */
export type ErrorListener = (error: unknown, context: ErrorContext) => unknown

/**
 * Reports an error to the application. Never throws and never waits. Ignores the failure of a call that was cancelled because
 * the client has disconnected: nothing is wrong with the storage or the database then.
 */
export type Report = (error: unknown, context: ErrorContext) => void

const printError: ErrorListener = (error, { operation }) => {
  console.error(`@svc/db: ${operation} failed:`, error)
}

export function createReport(
  listener: ErrorListener | null | undefined,
  now: () => Date = () => new Date(),
): Report {
  const listen = listener ?? printError
  const isTold = limitOverload(now)
  return (error, context) => {
    if (isCancellation(error, context.request?.signal) || isTold(error)) return
    // An error of the listener is ignored: reporting it would call the broken listener again.
    new Promise((resolve) => resolve(listen(originOf(error), context))).catch(() => undefined)
  }
}

/** How many times a minute the same overload is reported. */
const MAX_PER_MINUTE = 10
const REMEMBERED_MESSAGES = 100

/**
 * Returns a function that returns whether an overload was reported often enough within a minute. A thousand refused writes a second would
 * be as many reports. The error of a database that has failed has a cause.
 */
function limitOverload(now: () => Date): (error: unknown) => boolean {
  const told = new RecentEntries<readonly number[]>(REMEMBERED_MESSAGES)
  return (error) => {
    const isOverload =
      error instanceof StorageError &&
      error.code === 'DATABASE_UNAVAILABLE' &&
      error.retryable &&
      error.cause === undefined
    if (!isOverload) return false
    const time = now().getTime()
    const times = (told.get(error.message) ?? []).filter((each) => Math.abs(time - each) < 60_000)
    if (times.length >= MAX_PER_MINUTE) return true
    told.set(error.message, [...times, time])
    return false
  }
}

/** Returns whether an error of the library was caused by the abort of its request. Other failures may coincide with one. */
function isCancellation(error: unknown, signal: AbortSignal | undefined): boolean {
  return error instanceof StorageError && signal?.aborted === true && isCausedBy(signal.reason, error)
}

/** Drivers throw the reason of the signal, an `AbortError` of their own, or an error with one of them as its cause. */
function isCausedBy(reason: unknown, error: StorageError): boolean {
  return [...causesOf(error)].some(
    (cause) => cause === reason || (cause as Partial<Error>).name === 'AbortError',
  )
}

/** Unwraps an `INTERNAL_ERROR`, because its cause is what an operator needs to see. */
function originOf(error: unknown): unknown {
  const wraps = error instanceof StorageError && error.code === 'INTERNAL_ERROR' && error.cause !== undefined
  return wraps ? error.cause : error
}
