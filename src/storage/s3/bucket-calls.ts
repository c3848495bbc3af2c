import type { BytesReference } from '../../core/object-storage.js'
import { reasonOf } from './s3-errors.js'

/** Runs one storage operation against the bucket. */
export type RunBucketCall = <T>(
  /** The method name in `ObjectStorage`. */
  operation: string,
  reference: BytesReference,
  call: (abortSignal: AbortSignal) => Promise<T>,
) => Promise<T>

/** Creates a runner that enforces a timeout and wraps errors with the operation and the bucket. */
export function bucketCalls(timeoutSeconds: number): RunBucketCall {
  return async (operation, { bucket, signal }, call) => {
    try {
      return await withTimeout(timeoutSeconds, signal, call)
    } catch (error) {
      if (signal?.aborted) throw error
      const message = `s3Storage: ${operation} failed in bucket ${JSON.stringify(bucket)}: ${reasonOf(error)}`
      throw new Error(message, { cause: error })
    }
  }
}

/** A call took too long. The bucket may have processed it. */
class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'
}

/**
 * Runs a call and rejects after a timeout or when the caller aborts, even if the call ignores its own signal.
 *
 * @throws TimeLimitError after the timeout, and the caller's abort reason after an abort.
 */
async function withTimeout<T>(
  seconds: number,
  caller: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  caller?.throwIfAborted()
  const controller = new AbortController()
  let end = (_reason: Error): void => undefined
  const ended = new Promise<never>((_, reject) => {
    end = (reason) => {
      reject(reason)
      controller.abort(reason)
    }
  })
  const onAbort = () => end(caller?.reason as Error)
  const timer = setTimeout(() => end(new TimeLimitError(`no response within ${seconds} s`)), seconds * 1000)
  caller?.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([call(controller.signal), ended])
  } finally {
    clearTimeout(timer)
    caller?.removeEventListener('abort', onAbort)
  }
}
