import type { BytesReference } from '../../core/object-storage.js'
import { reasonOf } from './s3-errors.js'

/** Runs one storage operation against the bucket. */
export type RunBucketCall = <T>(
  /** The method name in `ObjectStorage`. */
  operation: string,
  reference: Pick<BytesReference, 'bucket' | 'signal'>,
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
  const stopListening = onAbort(caller, end)
  const timer = setTimeout(() => end(new TimeLimitError(`no response within ${seconds} s`)), seconds * 1000)
  try {
    return await Promise.race([call(controller.signal), ended])
  } finally {
    clearTimeout(timer)
    stopListening()
  }
}

type AbortListener = (reason: Error) => void

const listenersOf = new WeakMap<AbortSignal, Set<AbortListener>>()

/**
 * Calls a listener when the signal aborts, and returns a function that removes it. Many calls can share one signal, and
 * Node.js warns of a leak if a signal has more than ten listeners. This module therefore adds only one to each signal.
 */
function onAbort(signal: AbortSignal | undefined, listener: AbortListener): () => void {
  if (!signal) return () => undefined
  const listeners = listenersOf.get(signal) ?? listenTo(signal)
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function listenTo(signal: AbortSignal): Set<AbortListener> {
  const listeners = new Set<AbortListener>()
  listenersOf.set(signal, listeners)
  signal.addEventListener('abort', () => listeners.forEach((listener) => listener(signal.reason as Error)), {
    once: true,
  })
  return listeners
}
