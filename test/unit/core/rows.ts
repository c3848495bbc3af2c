import type { StorageObject } from '@svc/db'
import { NOON } from './settable-clock.js'

/** Returns a UUIDv7 that sorts by its number. */
export function idNumber(number: number): string {
  return `019ca000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
}

export function activeRow(fields: Partial<StorageObject> = {}): StorageObject {
  const id = fields.id ?? idNumber(1)
  return {
    attemptId: id,
    scope: 'user:1',
    bucket: 'photos',
    key: 'a.png',
    status: 'active',
    route: null,
    filename: null,
    contentType: null,
    size: 100,
    declaredSize: null,
    eTag: null,
    metadata: null,
    storageKey: null,
    uploadId: null,
    expiresAt: null,
    createdAt: NOON,
    updatedAt: NOON,
    confirmedAt: NOON,
    deletedAt: null,
    temporaryUntil: null,
    arrivedAt: null,
    ...fields,
    id,
  }
}
