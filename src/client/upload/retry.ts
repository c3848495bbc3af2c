import { limited } from '../call-options.js'
import { isCode, S3ClientError, withoutResponse } from '../client-error.js'
import { onPage } from './page-events.js'
import type { trackPhase } from './progress.js'

/** Pauses before each retry in seconds; about eight in total. */
const PAUSES = [0.25, 0.5, 1, 2, 4]

/** The longest `Retry-After` that an upload waits for, in seconds. */
const MAX_PAUSE = 60

/** Returns whether to repeat a call after its `failures`th failure in a row. */
export type IsRetryable = (error: unknown, failures: number) => boolean | Promise<boolean>

/**
 * Runs an idempotent call, and retries it while `isRetryable` holds for its error. While the browser says that it is offline, the
 * call is repeated for as long as it gets no response.
 */
export async function retry<Result>(
  call: () => Promise<Result>,
  { signal, phase }: { readonly signal: AbortSignal; readonly phase: ReturnType<typeof trackPhase> },
  isRetryable: IsRetryable = isTransient,
): Promise<Result> {
  for (let failures = 0; ;) {
    try {
      return await call()
    } catch (error) {
      if (signal.aborted) throw error
      const { onLine } = Object(globalThis.navigator) as Partial<Navigator>
      if (onLine === false && isCode(error, 'NETWORK_ERROR')) {
        // Browsers are often wrong about it.
        await phase.waiting(() => pause(signal, 15, 'online'))
        continue
      }
      const { retryAfter = 0 } = (Object(error) as Partial<S3ClientError>).params || {}
      // After the last pause, this is not a number.
      const seconds = Math.max(PAUSES[failures++]!, Number(retryAfter))
      if (!(seconds <= MAX_PAUSE && (await isRetryable(error, failures)))) throw error
      await pause(signal, seconds)
    }
  }
}

/** Returns whether an error comes from the network or from an overloaded or failing server, not from one that lacks a feature. */
export function isTransient(error: unknown): boolean {
  const status = statusOf(error)
  return (
    isCode(error, 'NETWORK_ERROR') ||
    [408, 429].includes(status) ||
    (status >= 500 && status !== 501 && status !== 505)
  )
}

/** Returns the status of a response, and 0 for any other error. */
export function statusOf(error: unknown): number {
  return (error instanceof S3ClientError && error.status) || 0
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw withoutResponse(signal)
}

/** Resolves after some seconds, or as soon as `event` happens in the page. Rejects if the signal aborts. */
export async function pause(signal: AbortSignal, timeoutSeconds: number, event?: string): Promise<void> {
  let stop: (() => void) | undefined
  const happened = new Promise<void>((resolve) => {
    if (event) stop = onPage(event, resolve)
  })
  try {
    await limited({ signal, timeoutSeconds }, () => happened)
  } catch (error) {
    if (signal.aborted) throw error
  } finally {
    if (stop) stop()
  }
}
