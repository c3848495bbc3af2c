import type { LiveRows, TrackedRow } from '../../../core/store/lifecycle.js'
import { NOTHING_LIVE } from '../../../core/store/lifecycle.js'
import type { ObjectReference, StorageObject } from '../../../core/store/records.js'
import type { Stored } from '../connection/place.js'
import { readRow, storedRow, type StoredRow } from './stored-row.js'

/** All that is live at a key. It goes with the last of its rows, so a key without a document is free. */
export interface KeyDocument extends Stored {
  readonly scope: string
  readonly active?: StoredRow
  readonly pending?: StoredRow
}

/** The `_id` of a key. No bucket has a NUL, so the pair can't be confused with another, nor with a scope. */
export function keyId({ bucket, key }: ObjectReference): string {
  return `${bucket}\0${key}`
}

export function referenceOf(id: string): ObjectReference {
  const end = id.indexOf('\0')
  return { bucket: id.slice(0, end), key: id.slice(end + 1) }
}

/** What is in place of the document before; `null` where nothing is live. */
export function keyDocument({ active, pending }: LiveRows): Stored | null {
  const row = active ?? pending
  if (!row) return null
  return {
    _id: keyId(row),
    scope: row.scope,
    ...(active && { active: storedRow(active) }),
    ...(pending && { pending: storedRow(pending) }),
  }
}

export function liveRows(document: KeyDocument | null | undefined): LiveRows {
  if (!document) return NOTHING_LIVE
  return { active: trackedRow(document, 'active'), pending: trackedRow(document, 'pending') }
}

/** The row of one status in a document of a key; `null` where it has none. */
export function rowOf(document: KeyDocument, status: 'active' | 'pending'): StorageObject | null {
  const row = document[status]
  if (!row) return null
  // The spread comes last: fields added to a spread object cost many times as much, and a page has up to 1,000 rows.
  return readRow(row, { scope: document.scope, status, deletedAt: null, ...referenceOf(document._id) })
}

function trackedRow(document: KeyDocument, status: 'active' | 'pending'): TrackedRow | null {
  const row = rowOf(document, status)
  return row && { ...row, writableUntil: document[status]!.writableUntil }
}
