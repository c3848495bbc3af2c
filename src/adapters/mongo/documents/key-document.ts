import { endOfPrefix, keyId, referenceOf } from '../../../core/names.js'
import { NOTHING_LIVE, type LiveRows, type TrackedRow } from '../../../core/store/lifecycle/change.js'
import type { StorageObject } from '../../../core/store/records.js'
import type { Stored } from '../connection/namespace.js'
import { readRow, storedRow, type StoredRow } from './stored-row.js'

/** The live rows of a key. Its `_id` is the `keyId`, which differs from all scopes: these contain no NUL. */
export interface KeyDocument extends Stored {
  readonly scope: string
  readonly active?: StoredRow & {
    /**
     * Set if the attempt behind the row has the id of the object. The index of attempts leaves these rows out. Version 1.5.5
     * sets it nowhere, so the index has all rows that it wrote.
     */
    readonly isOriginal?: true
  }
  readonly pending?: StoredRow
}

/** Matches the `_id` of every key in a bucket, in the order of the keys. */
export function rangeOfBucket(bucket: string): { readonly $gt: string; readonly $lt: string } {
  const start = keyId({ bucket, key: '' })
  return { $gt: start, $lt: endOfPrefix(start) }
}

/** Builds the document that replaces the previous one; `null` if nothing is live. */
export function keyDocument({ active, pending }: LiveRows): Stored | null {
  const row = active ?? pending
  if (!row) return null
  return {
    _id: keyId(row),
    scope: row.scope,
    ...(active && { active: activeRow(active) }),
    ...(pending && { pending: storedRow(pending) }),
  }
}

function activeRow(active: TrackedRow): object {
  return { ...storedRow(active), ...(active.attemptId === active.id && { isOriginal: true }) }
}

export function liveRows(document: KeyDocument | null | undefined): LiveRows {
  if (!document) return NOTHING_LIVE
  return { active: trackedRow(document, 'active'), pending: trackedRow(document, 'pending') }
}

/** Returns the row of a status in the document of a key; `null` if there is none. */
export function rowOf(document: KeyDocument, status: 'active' | 'pending'): StorageObject | null {
  const row = document[status]
  if (!row) return null
  // The spread comes last: adding fields to a spread object is many times slower, and a page has up to 1,000 rows.
  return readRow(row, { scope: document.scope, status, deletedAt: null, ...referenceOf(document._id) })
}

function trackedRow(document: KeyDocument, status: 'active' | 'pending'): TrackedRow | null {
  const row = rowOf(document, status)
  if (row === null) return null
  const { writableUntil, temporarySeconds = null, checkSeconds = null } = document[status]!
  return Object.assign(row, { writableUntil, temporarySeconds, checkSeconds })
}
