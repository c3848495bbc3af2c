import { limited } from '../call-options.js'
import { isCode, S3ClientError } from '../client-error.js'
import { offline } from '../online.js'
import type { Transfer } from './transfer.js'

/** Pauses before each retry in milliseconds; about eight seconds in total. */
const PAUSES = [250, 500, 1000, 2000, 4000]

export type RetryContext = Pick<Transfer, 'signal' | 'phase'>

/** Runs an idempotent call, and retries it while `isRetryable` holds for its error. Waits while the browser is offline. */
export async function retry<Result>(
  call: () => Promise<Result>,
  context: RetryContext,
  isRetryable: (error: unknown) => boolean = isTransient,
): Promise<Result> {
  for (const pause of PAUSES) {
    try {
      return await whileOnline(call, context)
    } catch (error) {
      if (context.signal.aborted || !isRetryable(error)) throw error
      await wait(pause, context.signal)
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
  if (!(error instanceof S3ClientError)) return false
  const { status = 500 } = error
  return status >= 500 || status === 429
}

export function hasStatus(error: unknown, status: number): boolean {
  return error instanceof S3ClientError && error.status === status
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const pause = () =>
    new Promise<void>((resolve) => {
      timer = setTimeout(resolve, milliseconds)
    })
  return limited({ signal }, pause).finally(() => clearTimeout(timer))
}
