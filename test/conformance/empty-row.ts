import type { StorageObject } from '../../src/core/store/records.js'

/** A record without a value. Expected rows begin with it, so that none lacks a field. */
export const EMPTY_ROW: Readonly<Record<keyof StorageObject, null>> = {
  id: null,
  attemptId: null,
  scope: null,
  bucket: null,
  key: null,
  status: null,
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
  createdAt: null,
  updatedAt: null,
  confirmedAt: null,
  deletedAt: null,
  temporaryUntil: null,
  arrivedAt: null,
}

/** The fields of a record, which every call ignores or takes. */
export const RECORD_NAMES: readonly string[] = Object.keys(EMPTY_ROW)
