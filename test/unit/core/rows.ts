import type { StorageObject } from '@svc/db'
import { EMPTY_ROW } from '../../conformance/empty-row.js'
import { NOON } from './settable-clock.js'

/** Returns a UUIDv7 that sorts by its number. */
export function idNumber(number: number): string {
  return `019ca000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
}

export function activeRow(fields: Partial<StorageObject> = {}): StorageObject {
  const id = fields.id ?? idNumber(1)
  return {
    ...EMPTY_ROW,
    attemptId: id,
    scope: 'user:1',
    bucket: 'photos',
    key: 'a.png',
    status: 'active',
    size: 100,
    createdAt: NOON,
    updatedAt: NOON,
    confirmedAt: NOON,
    ...fields,
    id,
  }
}
