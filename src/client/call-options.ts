import { type Asked, S3ClientError, withoutResponse } from './client-error.js'

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with `ABORTED`, or with `PAUSED` if that was the reason. */
  readonly signal?: AbortSignal | null | undefined
  /** Limits the whole call, a number above 0. After that, it rejects with `TIMEOUT`. Default: no limit. */
  readonly timeoutSeconds?: number | null | undefined
}

/**
 * Runs `work` with a signal that aborts with the caller's, after `timeoutSeconds`, and at the end, to stop what is left of the
 * work. Rejects as soon as the signal aborts, because a custom `fetch` often ignores it. `holdBack` may keep an abort of the caller
 * back, to stop later.
 *
 * @throws TypeError if `timeoutSeconds` is not a number above 0.
 */
export async function limited<Result>(
  { signal, timeoutSeconds }: CallOptions,
  work: (signal: AbortSignal) => Promise<Result>,
  asked?: Asked,
  holdBack?: (reason: unknown, stop: () => void) => boolean,
): Promise<Result> {
  const controller = new AbortController()
  const own = controller.signal
  // Without a signal of the caller, its own stands in for it: aborting twice does nothing.
  const outer = signal || own
  const abort = (reason: unknown) => abortWith(controller, reason)
  const stop = () => {
    if (!holdBack || !holdBack(outer.reason, stop)) abort(outer.reason)
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  if (timeoutSeconds != null) {
    if (typeof timeoutSeconds !== 'number' || !(timeoutSeconds > 0)) {
      throw new TypeError(`timeoutSeconds must be above 0 (got ${timeoutSeconds}).`)
    }
    const expire = () => abort(new S3ClientError('TIMEOUT', 'timed out.', asked))
    // A delay that is longer than 31 bits would fire at once.
    timer = setTimeout(expire, Math.min(timeoutSeconds * 1000, 2e9))
  }
  outer.addEventListener('abort', stop)
  try {
    return await new Promise((resolve, reject) => {
      own.addEventListener('abort', () => reject(withoutResponse(own, asked)))
      if (outer.aborted) stop()
      else work(own).then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    outer.removeEventListener('abort', stop)
    abort(outer.reason)
  }
}

/** Aborts with a reason that the signal has in every engine. */
export function abortWith(controller: AbortController, reason: unknown): void {
  // React Native and older web views have no `AbortSignal.reason`. Elsewhere, it can't be set.
  Reflect.set(controller.signal, 'reason', reason)
  controller.abort(reason)
}
