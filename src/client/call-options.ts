import { S3ClientError, withoutResponse } from './client-error.js'

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with `ABORTED`. */
  readonly signal?: AbortSignal | null | undefined
  /** Limits the whole call, a number above 0. After that, it rejects with `TIMEOUT`. Default: no limit. */
  readonly timeoutSeconds?: number | null | undefined
}

/**
 * Runs `work` with a signal that aborts with the caller's, after `timeoutSeconds`, and at the end, to stop what is left of the
 * work. Rejects as soon as the signal aborts, because a custom `fetch` often ignores it. Work that `endsItself` is waited for,
 * unless it calls `leave`.
 *
 * @throws TypeError if `timeoutSeconds` is not a number above 0.
 */
export async function limited<Result>(
  { signal, timeoutSeconds }: CallOptions,
  work: (signal: AbortSignal, leave: (error: unknown) => void) => Promise<Result>,
  endsItself?: boolean,
): Promise<Result> {
  const controller = new AbortController()
  const own = controller.signal
  // Without a signal of the caller, its own stands in for it: aborting twice does nothing.
  const outer = signal || own
  const abort = (reason: unknown) => {
    // React Native and older web views have no `AbortSignal.reason`.
    if (!('reason' in own)) Object.assign(own, { reason })
    controller.abort(reason)
  }
  const stop = () => abort(outer.reason)
  let timer: ReturnType<typeof setTimeout> | undefined
  if (timeoutSeconds != null) {
    if (typeof timeoutSeconds !== 'number' || !(timeoutSeconds > 0)) {
      throw new TypeError(`timeoutSeconds must be above 0 (got ${timeoutSeconds}).`)
    }
    const expire = () => abort(new S3ClientError('TIMEOUT', 'Timed out.'))
    // A delay that is longer than 31 bits would fire at once.
    timer = setTimeout(expire, Math.min(timeoutSeconds * 1000, 2e9))
  }
  outer.addEventListener('abort', stop)
  if (outer.aborted) stop()
  try {
    if (own.aborted) throw withoutResponse(own)
    return await new Promise((resolve, reject) => {
      if (!endsItself) own.addEventListener('abort', () => reject(withoutResponse(own)))
      work(own, reject).then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    outer.removeEventListener('abort', stop)
    stop()
  }
}

/**
 * Returns a promise that resolves the next time that the browser comes online, or `null` if it doesn't know that it has no
 * network.
 */
export function offline(signal: AbortSignal): Promise<unknown> | null {
  if (typeof navigator !== 'object' || navigator.onLine !== false) return null
  return limited(
    { signal },
    () => new Promise((resolve) => addEventListener('online', resolve, { once: true })),
  )
}

/** Who is signed in, or a function that returns it. `null` and `undefined`: no user. */
export type Account = string | (() => string | null | undefined) | null | undefined

/** @throws TypeError if the account is neither a string nor `null` or `undefined`. */
export function currentAccount(account: Account): string | null {
  const current: unknown = typeof account === 'function' ? account() : account
  if (current == null) return null
  if (typeof current === 'string') return current
  throw new TypeError(`account must be a string or null (got ${typeof current}).`)
}
