import { StorageError } from '../../core/errors.js'
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

export function mismatch(message: string): StorageError {
  return new StorageError('UPLOAD_MISMATCH', { message })
}

/** Builds the error for an attempt whose bytes have not all arrived. After it has expired, they can't. */
export function incomplete(row: StorageObject, now: Date, message: string): StorageError {
  return mismatch(hasExpired(row, now) ? EXPIRED : message)
}
