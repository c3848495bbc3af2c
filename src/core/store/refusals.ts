import { StorageError } from '../errors.js'
import type { QuotaExcess } from './driver-commands.js'
import { invalid } from './validation/checks.js'

/** Creates the error for a write that would exceed a quota. */
export function quotaExceeded({ limit, max, used, reserved, requested }: QuotaExcess): StorageError {
  const unit = limit === 'maxBytes' ? 'bytes' : 'files'
  return new StorageError('QUOTA_EXCEEDED', {
    message: `The quota of ${max} ${unit} would be exceeded: ${used} in use, ${requested} more requested.`,
    params: { limit, max, used, reserved, requested },
  })
}

/** Creates the error for a write after which the bytes of a scope could no longer be counted exactly. */
export function sumTooLarge(field: string): StorageError {
  return invalid(field, `must not raise the total size of the scope above ${Number.MAX_SAFE_INTEGER} bytes.`)
}
