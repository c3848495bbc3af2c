import type { RecordedLeftover } from '../../../core/store/driver.js'
import type { Leftover } from '../../../core/store/records.js'
import type { Stored } from '../connection/namespace.js'
import { keyId, referenceOf } from './key-document.js'

/** Bytes of an ended attempt that may still be in the bucket. Its `_id` is the id of the attempt. */
export interface LeftoverDocument extends Stored {
  /** The `_id` of the key that the attempt belonged to. */
  readonly at: string
  readonly storageKey?: string
  readonly uploadId?: string
  readonly since: Date
  readonly writableUntil: Date
}

export function leftoverDocument(leftover: Leftover): Stored {
  const { attemptId, storageKey, uploadId, since, writableUntil } = leftover
  return {
    _id: attemptId,
    at: keyId(leftover),
    ...(storageKey !== null && { storageKey }),
    ...(uploadId !== null && { uploadId }),
    since,
    writableUntil,
  }
}

export function readLeftover(document: LeftoverDocument): RecordedLeftover {
  const { _id, at, storageKey, uploadId, since, writableUntil } = document
  const absent = { storageKey: storageKey ?? null, uploadId: uploadId ?? null }
  return { attemptId: _id, ...referenceOf(at), ...absent, since, writableUntil }
}
