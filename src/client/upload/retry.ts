import { limited, offline } from '../call-options.js'
import { isCode, S3ClientError, withoutResponse } from '../client-error.js'
import type { Transfer } from './transfer.js'

/** Pauses before each retry in seconds; about eight in total. */
const PAUSES = [0.25, 0.5, 1, 2, 4]

export type RetryContext = Pick<Transfer, 'signal' | 'phase'>

/** Runs an idempotent call, and retries it while `isRetryable` holds for its error. Waits while the browser is offline. */
export async function retry<Result>(
  call: () => Promise<Result>,
  context: RetryContext,
  isRetryable: (error: unknown) => boolean = isTransient,
): Promise<Result> {
  const { signal } = context
  for (const timeoutSeconds of PAUSES) {
    try {
      return await whileOnline(call, context)
    } catch (error) {
      if (signal.aborted || !isRetryable(error)) throw error
      // The time limit ends the pause, because its promise never settles.
      await limited({ signal, timeoutSeconds }, () => new Promise(() => {})).catch(() =>
        throwIfAborted(signal),
      )
    }
  }
  return whileOnline(call, context)
}

/** Runs a call. If the browser turns out to be offline, waits until it is online and runs it again. */
export async function whileOnline<Result>(
  call: () => Promise<Result>,
  { signal, phase }: RetryContext,
): Promise<Result> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const online = isCode(error, 'NETWORK_ERROR') && offline(signal)
      if (!online) throw error
      await phase.waiting(online)
    }
  }
}

/** Returns whether an error comes from the network or from an overloaded or failing server. */
export function isTransient(error: unknown): boolean {
  // Without a status, there was no response. `undefined` is not less than a number.
  return error instanceof S3ClientError && !(error.status! < 500 && error.status !== 429)
}

export function hasStatus(error: unknown, status: number): boolean {
  return error instanceof S3ClientError && error.status === status
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw withoutResponse(signal)
}
