import { StorageError } from '../../core/errors.js'
import type { RecordKeeper } from '../../core/plugin.js'
import { hasExpired } from '../../core/store/lifecycle/change.js'
import type { StorageObject } from '../../core/store/records.js'

export const EXPIRED = 'The upload has expired. Start a new one.'

/** Builds the same error for a missing row and for another scope's row. Otherwise, callers could probe for keys. */
export function notFound(message?: string): StorageError {
  return new StorageError('OBJECT_NOT_FOUND', { message })
}

export function attemptNotFound(): StorageError {
  return notFound('The upload does not exist. It may have ended or expired.')
}

/**
 * Returns why an attempt that is gone can't be confirmed: `UPLOAD_REJECTED` if it failed its check less than an hour ago, and otherwise
 * `OBJECT_NOT_FOUND`.
 */
export async function goneAttempt(
  { objects }: Pick<RecordKeeper, 'objects'>,
  { bucket, key, id }: Pick<StorageObject, 'bucket' | 'key' | 'id'>,
  scope: string,
): Promise<StorageError> {
  // Only a confirm tells. This one would exceed its quota if there were a reservation to confirm.
  const terms = { size: Number.MAX_SAFE_INTEGER, quota: { maxBytes: 0 } }
  try {
    await objects.confirm({ bucket, key, id, scope, ...terms })
  } catch (error) {
    const isExpected = error instanceof StorageError && error.status < 500
    if (!isExpected) throw error
    if (error.code === 'UPLOAD_REJECTED') return error
  }
  return attemptNotFound()
}

export function mismatch(message: string): StorageError {
  return new StorageError('UPLOAD_MISMATCH', { message })
}

/** Builds the error for an attempt whose bytes have not all arrived. After it has expired, they can't. */
export function incomplete(row: StorageObject, now: Date, message: string): StorageError {
  return mismatch(hasExpired(row, now) ? EXPIRED : message)
}
