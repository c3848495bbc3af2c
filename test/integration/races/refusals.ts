import { StorageError } from '@svc/db'

/** The codes with which the contract refuses a call of a race. */
export const REFUSALS: ReadonlySet<string> = new Set([
  ...['KEY_CONFLICT', 'QUOTA_EXCEEDED', 'OBJECT_NOT_FOUND', 'UPLOAD_REJECTED'],
])

/** Whether the contract refuses the call. On a busy machine, a short reservation may be over before its call has begun. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof StorageError)) return false
  return REFUSALS.has(error.code) || error.message.startsWith('expiresAt must be in the future')
}
