import { S3ClientError, withoutResponse } from '../client-error.js'

/** Pauses before each retry in milliseconds; about eight seconds in total. */
const PAUSES = [250, 500, 1000, 2000, 4000]

/** Runs an idempotent call, and retries it while `isRetryable` holds for its error. */
export async function retry<Result>(
  call: () => Promise<Result>,
  signal: AbortSignal | null | undefined,
  isRetryable: (error: unknown) => boolean = isTransient,
): Promise<Result> {
  for (const pause of PAUSES) {
    try {
      return await call()
    } catch (error) {
      if (signal?.aborted || !isRetryable(error)) throw error
      await wait(pause, signal)
    }
  }
  return call()
}

/** Returns whether an error comes from the network or from an overloaded or failing server. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof S3ClientError)) return false
  return error.status === undefined || error.status >= 500 || error.status === 429
}

function wait(milliseconds: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(withoutResponse(signal))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', stop)
  })
}
