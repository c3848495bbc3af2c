import { StorageError } from '../../core/errors.js'
import type { JsonSchema } from '../../core/http/endpoint-description.js'
import { ATTEMPT_ID, nullable, textSchema, withProperties } from '../../core/openapi/schemas.js'
import type { RecordKeeper } from '../../core/plugin.js'
import type { ObjectReference, StorageObject } from '../../core/store/records.js'
import { checkAttemptId, checkText } from '../../core/store/validation/checks.js'

/** Identifies an attempt, with the values from the response that started it. */
export interface AttemptReference extends ObjectReference {
  readonly id: string
}

/** Identifies an attempt at a multipart upload. */
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

/** Returns the schema of what {@link readAttempt} reads, plus `more` properties of an endpoint, for the OpenAPI document. */
export function attemptBody(
  defaultBucket: string,
  more: Readonly<Record<string, JsonSchema>> = {},
  optional: readonly string[] = [],
): JsonSchema {
  const bucket = nullable(textSchema('bucket', `Default: ${defaultBucket}.`))
  return withProperties({ key: textSchema('key'), id: ATTEMPT_ID, ...more, bucket }, ['bucket', ...optional])
}

/** Returns the schema of what {@link readMultipartAttempt} reads, for the OpenAPI document. */
export function multipartAttemptBody(
  defaultBucket: string,
  more: Readonly<Record<string, JsonSchema>> = {},
  optional: readonly string[] = [],
): JsonSchema {
  return attemptBody(defaultBucket, { uploadId: textSchema('uploadId'), ...more }, optional)
}

/** Returns the pending row of a single-PUT upload, or `null` if there is none or it belongs to another scope. */
export async function pendingUploadOf(
  { objects }: RecordKeeper,
  { bucket, key, id }: AttemptReference,
  scope: string,
): Promise<StorageObject | null> {
  const pending = await objects.findPending({ bucket, key, id, scope })
  return pending?.scope === scope && pending.uploadId === null ? pending : null
}

/** Returns the pending row of a multipart upload, or `null` if there is none or it belongs to another scope. */
export async function pendingMultipartOf(
  { objects }: RecordKeeper,
  { bucket, key, id, uploadId }: MultipartAttemptReference,
  scope: string,
): Promise<PendingMultipart | null> {
  const pending = await objects.findPending({ bucket, key, id, uploadId, scope })
  return pending?.scope === scope ? { ...pending, uploadId } : null
}

/**
 * Returns the object that this attempt became, or `null` if there is none or it belongs to another scope. Single-PUT and
 * multipart uploads both match: an object does not record which kind it came from.
 */
export async function objectOf(
  { objects }: RecordKeeper,
  { bucket, key, id }: AttemptReference,
  scope: string,
): Promise<StorageObject | null> {
  const active = await objects.findActive({ bucket, key, scope })
  return active?.scope === scope && active.attemptId === id ? active : null
}

/** Builds the same error for a missing row and for another scope's row. Otherwise, callers could probe for keys. */
export function notFound(): StorageError {
  return new StorageError('OBJECT_NOT_FOUND')
}
