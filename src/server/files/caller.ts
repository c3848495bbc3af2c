import { onAbort } from '../../core/on-abort.js'
import { isSignal } from '../../core/option-checks.js'
import { invalid, shown } from '../../core/store/validation/checks.js'

/**
 * An error of the caller: of the body, of `onProgress`, the reason of an abort, or a call that the storage or the options don't
 * support. The call rejects with `reason` itself.
 */
export class CallerError extends Error {
  constructor(readonly reason: unknown) {
    super('The caller ended the operation.')
  }
}

/** Runs a function of the caller. @throws CallerError with what it throws. */
export async function asCaller<T>(call: () => T | Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (reason) {
    throw new CallerError(reason)
  }
}

/** An AbortController that also aborts when the signal of the caller does. */
export interface LinkedAbort {
  readonly signal: AbortSignal
  readonly abort: (reason: unknown) => void
  /** Ends the link. Call it when the operation has ended, because the signal can outlive it. */
  readonly unlink: () => void
}

/** Creates a controller that follows `signal`. */
export function linkedAbort(signal: AbortSignal | null): LinkedAbort {
  const controller = new AbortController()
  const abort = (reason: unknown) => controller.abort(reason)
  if (signal?.aborted) abort(signal.reason)
  const unlink = signal ? onAbort(signal, abort) : () => undefined
  return { signal: controller.signal, abort, unlink }
}

/** Waits for a promise, but no longer than until the signal aborts. Rejects with the signal's reason then. */
export type WaitFor = <T>(promise: Promise<T>) => Promise<T>

/** Returns a {@link WaitFor} for one promise at a time. It adds one listener to the signal, however often it is called. */
export function waitUntilAborted(signal: AbortSignal): WaitFor {
  let stop = (_reason: unknown): void => undefined
  signal.addEventListener('abort', () => stop(signal.reason), { once: true })
  return (promise) =>
    new Promise((resolve, reject) => {
      stop = reject
      if (signal.aborted) reject(signal.reason as Error)
      promise.then(resolve, reject)
    })
}

/** Returns the signal of a call, or `null`. @throws StorageError `VALIDATION_ERROR` (`signal`) */
export function checkSignal(value: AbortSignal | null | undefined): AbortSignal | null {
  if (value === undefined || value === null) return null
  if (isSignal(value)) return value
  throw invalid('signal', `must be an AbortSignal (got ${shown(value)}).`)
}
