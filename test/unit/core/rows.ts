import type { TrackedRow } from '../../../src/core/store/lifecycle.js'
import { afterNoon, NOON } from './settable-clock.js'

/** Returns a UUIDv7 that sorts by its number. */
export function idNumber(number: number): string {
  return `019ca000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
}

const NOTHING_KNOWN = {
  scope: 'user:1',
  bucket: 'photos',
  key: 'a.png',
  route: null,
  filename: null,
  contentType: null,
  size: null,
  declaredSize: null,
  eTag: null,
  metadata: null,
  storageKey: null,
  uploadId: null,
  expiresAt: null,
  createdAt: NOON,
  updatedAt: NOON,
  confirmedAt: null,
  deletedAt: null,
}

export function activeRow(fields: Partial<TrackedRow> = {}): TrackedRow {
  const id = fields.id ?? idNumber(1)
  return {
    ...NOTHING_KNOWN,
    attemptId: id,
    status: 'active',
    size: 100,
    confirmedAt: NOON,
    writableUntil: NOON,
    ...fields,
    id,
  }
}

export function pendingRow(fields: Partial<TrackedRow> = {}): TrackedRow {
  const id = fields.id ?? idNumber(2)
  const expiresAt = fields.expiresAt ?? afterNoon(60_000)
  return {
    ...NOTHING_KNOWN,
    attemptId: id,
    status: 'pending',
    declaredSize: 100,
    writableUntil: expiresAt,
    ...fields,
    id,
    expiresAt,
  }
}

export function deletedRow(fields: Partial<TrackedRow> = {}): TrackedRow {
  return { ...activeRow({ id: idNumber(3), ...fields }), status: 'deleted', deletedAt: NOON }
}
