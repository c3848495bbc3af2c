import { keyId, referenceOf } from '../../../core/names.js'
import type { Leftover, StorageObject } from '../../../core/store/records.js'
import type { Stored } from '../connection/namespace.js'
import { readRow, storedRow, type StoredRow } from './stored-row.js'

/** A deleted row. Its `_id` is the id of the row, and `at` that of its key. */
export interface HistoryDocument extends Stored {
  readonly scope: string
  readonly at: string
  readonly deletedAt: Date
  readonly row: StoredRow
}

export function historyDocument(row: StorageObject): Stored {
  return { _id: row.id, scope: row.scope, at: keyId(row), deletedAt: row.deletedAt, row: storedRow(row) }
}

export function readHistory({ at, scope, deletedAt, row }: HistoryDocument): StorageObject {
  return readRow(row, { scope, status: 'deleted', deletedAt, ...referenceOf(at) })
}

/** Bytes of an ended attempt that may still be in the bucket. `_id` is the attempt, and `at` the `_id` of its key. */
export interface LeftoverDocument extends Stored {
  readonly at: string
  /** Missing if version 1.5 recorded the leftover. */
  readonly scope?: string
  readonly storageKey?: string
  readonly uploadId?: string
  readonly since: Date
  readonly writableUntil: Date
  /** Missing until the leftover is put off. */
  readonly dueAt?: Date
  readonly readableUntil?: Date
}

export function leftoverDocument(leftover: Leftover): Stored {
  const { attemptId, scope, storageKey, uploadId, since, writableUntil, dueAt, readableUntil } = leftover
  return {
    _id: attemptId,
    at: keyId(leftover),
    ...(scope !== null && { scope }),
    ...(storageKey !== null && { storageKey }),
    ...(uploadId !== null && { uploadId }),
    since,
    writableUntil,
    ...(dueAt !== null && { dueAt }),
    ...(readableUntil !== null && { readableUntil }),
  }
}

export function readLeftover(document: LeftoverDocument): Leftover {
  const { _id, at, scope, storageKey, uploadId, since, writableUntil, dueAt, readableUntil } = document
  const owner = { attemptId: _id, scope: scope ?? null, ...referenceOf(at) }
  const bytes = { storageKey: storageKey ?? null, uploadId: uploadId ?? null }
  const dates = { since, writableUntil, dueAt: dueAt ?? null, readableUntil: readableUntil ?? null }
  return { ...owner, ...bytes, ...dates }
}
