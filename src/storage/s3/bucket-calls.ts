import type { BytesReference } from '../../core/object-storage.js'
import { reasonOf } from './bucket-failures.js'
import { withinTimeLimit } from './time-limit.js'

/** Runs what one call of the storage asks of the bucket. */
export type RunBucketCall = <T>(
  /** As the interface names it. */
  operation: string,
  reference: BytesReference,
  call: (abortSignal: AbortSignal) => Promise<T>,
) => Promise<T>

/** Calls that end within so many seconds, and whose failures say which they were, and of which bucket. */
export function bucketCalls(timeoutSeconds: number): RunBucketCall {
  return async (operation, { bucket, signal }, call) => {
    try {
      return await withinTimeLimit(timeoutSeconds, signal, call)
    } catch (error) {
      if (signal?.aborted) throw error
      const message = `s3Storage: ${operation} in the bucket ${JSON.stringify(bucket)} failed: ${reasonOf(error)}`
      throw new Error(message, { cause: error })
    }
  }
}
