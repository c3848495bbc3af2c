import { keyId, referenceOf } from '../../../core/names.js'
import type { StorageObject } from '../../../core/store/records.js'
import type { Stored } from '../connection/namespace.js'
import { readRow, storedRow, type StoredRow } from './stored-row.js'

/** A deleted row. Its `_id` is the id of the row. */
export interface HistoryDocument extends Stored {
  readonly scope: string
  /** The `_id` of the key that the row belonged to. */
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
