import { onAbort } from '../../core/on-abort.js'
import { isSignal } from '../../core/on-abort.js'
import { invalid, shown } from '../../core/store/validation/checks.js'

/** An error of the body, of `onProgress`, of an abort or of the options. The call rejects with `reason` itself. */
export class CallerError extends Error {
  constructor(readonly reason: unknown) {
    super('The caller ended the operation.')
  }
}

export function lacks(method: string, caller = 'put'): CallerError {
  return new CallerError(new TypeError(`files.${caller}: the storage must implement ${method}.`))
}

/** Runs a function of the caller. @throws CallerError with what it throws. */
export async function asCaller<T>(call: () => T | Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (reason) {
    throw new CallerError(reason)
  }
}

export type LinkedAbort = ReturnType<typeof linkedAbort>

/** Creates a controller that also aborts with the caller's signal. Unlink it at the end, because that signal can live on. */
export function linkedAbort(signal: AbortSignal | null) {
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
