import { StorageError } from '../errors.js'
import type { MissingObjects, QuotaRefusal, Refusal, RepeatedObject } from './outcomes.js'
import { invalid, shown } from './validation/checks.js'
import { MAX_METADATA_BYTES, MAX_METADATA_ENTRIES } from './validation/metadata.js'

/** `sumField` is the input that makes the scope too large to count exactly. */
export function refusalError(refusal: Refusal, sumField = 'size'): Error {
  switch (refusal.outcome) {
    case 'not-found':
      return new StorageError('OBJECT_NOT_FOUND')
    case 'rejected':
      return new StorageError('UPLOAD_REJECTED', {
        ...(refusal.reason !== null && { params: { reason: refusal.reason } }),
      })
    case 'key-conflict':
      return new StorageError('KEY_CONFLICT')
    case 'reused-id':
      return reused('id')
    case 'reused-storage-key':
      return reused('storageKey')
    case 'other-upload':
      return invalid('uploadId', 'must be set only once per attempt (this attempt already has another one).')
    case 'metadata-entries':
      return excess(`${MAX_METADATA_ENTRIES} entries`, refusal.got)
    case 'metadata-bytes':
      return excess(`${MAX_METADATA_BYTES} bytes of UTF-8 in total`, refusal.got)
    case 'maxBytes':
    case 'maxFiles':
      return quotaExceeded(refusal)
    case 'sum':
      return invalid(
        sumField,
        `must not raise the total size of the scope above ${Number.MAX_SAFE_INTEGER} bytes.`,
      )
    default: {
      // A driver that is not written in TypeScript can return anything.
      const { outcome } = refusal satisfies never as { readonly outcome: unknown }
      return new TypeError(`createStore: the driver returned an unknown outcome (got ${shown(outcome)}).`)
    }
  }
}

/** The error of a `keep` that was refused. */
export function keepError(refusal: RepeatedObject | MissingObjects): StorageError {
  if (refusal.outcome === 'missing') {
    return new StorageError('OBJECT_NOT_FOUND', { params: { missing: refusal.indexes.join(',') } })
  }
  const { index, earlier } = refusal
  return invalid(`objects[${index}].id`, `must not name the same object as objects[${earlier}].id.`)
}

function reused(field: string): StorageError {
  return invalid(field, 'must be unique per attempt (another attempt at this key already uses it).')
}

function excess(most: string, got: number): StorageError {
  return invalid('setMetadata', `must leave at most ${most} (got ${got}).`)
}

function quotaExceeded({ outcome: limit, max, used, reserved, requested }: QuotaRefusal): StorageError {
  const unit = limit === 'maxBytes' ? 'bytes' : 'files'
  return new StorageError('QUOTA_EXCEEDED', {
    message: `The quota of ${max} ${unit} would be exceeded: ${used} in use, ${requested} more requested.`,
    params: { limit, max, used, reserved, requested },
  })
}
