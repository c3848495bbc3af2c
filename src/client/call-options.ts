import { S3ClientError, withoutResponse } from './client-error.js'

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with `ABORTED`. */
  readonly signal?: AbortSignal | null | undefined
  /** Limits the whole call, a number above 0. After that, it rejects with `TIMEOUT`. Default: no limit. */
  readonly timeoutSeconds?: number | null | undefined
}

/** Limits the delay of the timer, in milliseconds. One that is longer than 31 bits would fire at once. */
const MAX_DELAY = 2e9

/**
 * Runs `work` with a signal that follows the caller's, and that also aborts after `timeoutSeconds` or by `stop`.
 *
 * @throws TypeError if `timeoutSeconds` is not a number above 0.
 */
export async function withTimeout<Result>(
  { signal, timeoutSeconds }: CallOptions,
  work: (signal: AbortSignal, stop: () => void) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  if (timeoutSeconds != null) {
    if (typeof timeoutSeconds !== 'number' || !(timeoutSeconds > 0)) {
      throw new TypeError(`timeoutSeconds must be a number above 0 (got ${timeoutSeconds}).`)
    }
    const expire = () => controller.abort(new S3ClientError('TIMEOUT', 'The call timed out.'))
    timer = setTimeout(expire, Math.min(timeoutSeconds * 1000, MAX_DELAY))
  }
  const stop = () => controller.abort(signal && signal.reason)
  if (signal) {
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
  }
  try {
    return await work(controller.signal, stop)
  } finally {
    clearTimeout(timer)
    if (signal) signal.removeEventListener('abort', stop)
  }
}

/** Runs `work`, and rejects as soon as the signal aborts, because a custom `fetch` often ignores it. */
export function abortable<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(withoutResponse(signal))
    if (signal.aborted) {
      stop()
      return
    }
    signal.addEventListener('abort', stop)
    void work()
      .finally(() => signal.removeEventListener('abort', stop))
      .then(resolve, reject)
  })
}
