import { createAttemptId } from '../attempt-id.js'
import {
  attemptId,
  boolean,
  futureDate,
  metadata,
  optional,
  quota,
  REFERENCE,
  size,
  text,
  type CommandOf,
  type InputOf,
} from './fields.js'

export const RESERVE = {
  /**
   * The id of the attempt, from `createAttemptId()`. Pass one to know it before the call, or to make a retry idempotent: a
   * repeated call with the id of the pending row returns that row.
   */
  id: optional(attemptId, (now) => createAttemptId({ now: () => now })),
  scope: text('scope'),
  ...REFERENCE,
  /** Bytes, 0 to `Number.MAX_SAFE_INTEGER`. */
  declaredSize: size,
  /** In the future, and not after the year 9999. */
  expiresAt: futureDate,
  route: optional(text('route')),
  filename: optional(text('filename')),
  contentType: optional(text('contentType')),
  metadata: optional(metadata),
  /** The key of the bytes in the bucket, 1..1024 bytes of UTF-8. Only this attempt may ever use it. */
  storageKey: optional(text('storageKey')),
  uploadId: optional(text('uploadId')),
  /** `false` refuses a key that has an active row. Default `true`. */
  overwrite: optional(boolean, () => true),
  quota,
}
export interface ReserveInput extends InputOf<typeof RESERVE> {}
export interface ReserveCommand extends CommandOf<typeof RESERVE> {}

export const CONFIRM = {
  ...REFERENCE,
  /** Only this attempt. */
  id: optional(attemptId),
  scope: optional(text('scope')),
  /** Verified bytes. */
  size,
  eTag: optional(text('eTag')),
  /** Default: the content type of the attempt. */
  contentType: optional(text('contentType')),
  /** Limits the growth beyond the reservation. */
  quota,
}
export interface ConfirmInput extends InputOf<typeof CONFIRM> {}
export interface ConfirmCommand extends CommandOf<typeof CONFIRM> {}

export const SET_UPLOAD_ID = {
  ...REFERENCE,
  id: attemptId,
  uploadId: text('uploadId'),
}
export interface SetUploadIdInput extends InputOf<typeof SET_UPLOAD_ID> {}
export interface SetUploadIdCommand extends CommandOf<typeof SET_UPLOAD_ID> {}

export const RELEASE = {
  ...REFERENCE,
  id: optional(attemptId),
  scope: optional(text('scope')),
  uploadId: optional(text('uploadId')),
}
export interface ReleaseInput extends InputOf<typeof RELEASE> {}
export interface ReleaseCommand extends CommandOf<typeof RELEASE> {}
