import { StorageError } from '../../core/errors.js'
import type { JsonSchema } from '../../core/http/endpoint-description.js'
import { ATTEMPT_ID, nullable, textSchema, withProperties } from '../../core/openapi/schemas.js'
import type { RecordKeeper } from '../../core/plugin.js'
import type { ObjectReference, StorageObject } from '../../core/store/records.js'
import { checkAttemptId } from '../../core/store/validation/scalars.js'
import { checkText } from '../../core/store/validation/text.js'

/** Names one attempt, as the answer that began it did. */
export interface AttemptReference extends ObjectReference {
  readonly id: string
}

/** Names one attempt at a multipart upload. */
export interface MultipartAttemptReference extends AttemptReference {
  readonly uploadId: string
}

/** The pending row of a multipart upload. */
export type PendingMultipart = StorageObject & { readonly uploadId: string }

/** @throws StorageError `VALIDATION_ERROR` */
export function readAttempt(
  body: Readonly<Record<string, unknown>>,
  defaultBucket: string,
): AttemptReference {
  return {
    bucket: checkText('bucket', body['bucket'] ?? defaultBucket),
    key: checkText('key', body['key']),
    id: checkAttemptId('id', body['id']),
  }
}

/** @throws StorageError `VALIDATION_ERROR` */
export function readMultipartAttempt(
  body: Readonly<Record<string, unknown>>,
  defaultBucket: string,
): MultipartAttemptReference {
  return { ...readAttempt(body, defaultBucket), uploadId: checkText('uploadId', body['uploadId']) }
}

/** What {@link readAttempt} reads, for the API's document; `more` are the further properties of an endpoint. */
export function attemptBody(
  defaultBucket: string,
  more: Readonly<Record<string, JsonSchema>> = {},
  optional: readonly string[] = [],
): JsonSchema {
  const bucket = nullable(textSchema('bucket', `Default: ${defaultBucket}.`))
  return withProperties({ key: textSchema('key'), id: ATTEMPT_ID, ...more, bucket }, ['bucket', ...optional])
}

/** What {@link readMultipartAttempt} reads, for the API's document. */
export function multipartAttemptBody(
  defaultBucket: string,
  more: Readonly<Record<string, JsonSchema>> = {},
  optional: readonly string[] = [],
): JsonSchema {
  return attemptBody(defaultBucket, { uploadId: textSchema('uploadId'), ...more }, optional)
}

/** The pending row of an upload in one PUT, if it is the caller's; `null` where there is none, or it is another's. */
export async function pendingUploadOf(
  { objects }: RecordKeeper,
  { bucket, key, id }: AttemptReference,
  scope: string,
): Promise<StorageObject | null> {
  const pending = await objects.findPending({ bucket, key, id })
  return pending?.scope === scope && pending.uploadId === null ? pending : null
}

/** The pending row of a multipart upload, if it is the caller's; `null` where there is none, or it is another's. */
export async function pendingMultipartOf(
  { objects }: RecordKeeper,
  { bucket, key, id, uploadId }: MultipartAttemptReference,
  scope: string,
): Promise<PendingMultipart | null> {
  const pending = await objects.findPending({ bucket, key, id, uploadId })
  return pending?.scope === scope ? { ...pending, uploadId } : null
}

/** The object that this very attempt became, if it is the caller's. (Of which kind the upload was, no object tells.) */
export async function objectOf(
  { objects }: RecordKeeper,
  { bucket, key, id }: AttemptReference,
  scope: string,
): Promise<StorageObject | null> {
  const active = await objects.findActive({ bucket, key })
  return active?.scope === scope && active.attemptId === id ? active : null
}

/** One answer for what is missing and what is another's, so that nobody can probe for keys. */
export function notFound(): StorageError {
  return new StorageError('OBJECT_NOT_FOUND')
}
