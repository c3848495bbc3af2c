import type { StorageObject } from '../../src/core/store/records.js'

const NAMES = [
  ...['id', 'attemptId', 'scope', 'bucket', 'key', 'status', 'route', 'filename', 'contentType', 'size'],
  ...['declaredSize', 'eTag', 'metadata', 'storageKey', 'uploadId', 'expiresAt', 'createdAt', 'updatedAt'],
  ...['confirmedAt', 'deletedAt', 'temporaryUntil', 'arrivedAt'],
] as const satisfies readonly (keyof StorageObject)[]

/** The fields of a record, which every call ignores or takes. */
export const RECORD_NAMES: readonly string[] = NAMES
