import type { DbClientObject } from '../../core/store/records.js'
import { isCode } from '../client-error.js'

/** How long an aborted or failed upload waits for the server, in milliseconds. */
export const END_TIMEOUT = 10_000

/** The calls that can end an attempt. */
export interface EndCalls {
  readonly abort: (signal: AbortSignal) => Promise<void>
  readonly confirm: (signal: AbortSignal) => Promise<DbClientObject>
}

/**
 * Aborts an attempt at the server, which releases its quota. Resolves to the object if the attempt turns out to be
 * confirmed: a confirm that was aborted, or whose response was lost, may have succeeded. If the server is unreachable, the
 * attempt expires there.
 */
export async function endAttempt({ abort, confirm }: EndCalls): Promise<DbClientObject | null> {
  try {
    await abort(AbortSignal.timeout(END_TIMEOUT))
    return null
  } catch (error) {
    if (!isCode(error, 'OBJECT_NOT_FOUND')) return null
    return confirm(AbortSignal.timeout(END_TIMEOUT)).catch(() => null)
  }
}

/**
 * Runs the call that starts an attempt with a signal that aborts `END_TIMEOUT` after the given one. Without its response,
 * the client could not abort the attempt at the server.
 */
export async function withDelayedAbort<Result>(
  signal: AbortSignal | null | undefined,
  start: (delayed: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const follow = () => {
    timer = setTimeout(() => controller.abort(signal?.reason), END_TIMEOUT)
  }
  signal?.addEventListener('abort', follow)
  try {
    return await start(controller.signal)
  } finally {
    signal?.removeEventListener('abort', follow)
    clearTimeout(timer)
  }
}
