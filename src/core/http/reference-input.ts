import type { ObjectReference } from '../store/records.js'
import { ATTEMPT_ID, textSchema } from '../openapi/schemas.js'
import { checkAttemptId, checkText, invalid } from '../store/validation/checks.js'
import type { QueryParameter } from './endpoint-description.js'
import type { Query } from './query.js'

/**
 * Reads `key` and `bucket` from a query. `defaultBucket` replaces a missing bucket; `null` makes it required.
 * @throws StorageError `VALIDATION_ERROR`
 */
export function readReference(query: Query, defaultBucket: string | null): ObjectReference {
  return {
    bucket: checkText('bucket', query.get('bucket') ?? defaultBucket),
    key: checkText('key', query.get('key')),
  }
}

/** Names an object by its key, or by its id. */
export type NamedObject = ObjectReference | { readonly id: string }

/**
 * Reads either `id`, or `key` and `bucket` as {@link readReference} does.
 * @throws StorageError `VALIDATION_ERROR`
 */
export function readNamedObject(query: Query, defaultBucket: string | null): NamedObject {
  const id = query.get('id')
  if (id === null) {
    if (query.get('key') === null) throw invalid('key', 'or id must be given.')
    return readReference(query, defaultBucket)
  }
  if (query.get('key') !== null) throw invalid('key', 'must not be given together with id.')
  if (query.get('bucket') !== null) throw invalid('bucket', 'must not be given together with id.')
  return { id: checkAttemptId('id', id) }
}

/** Describes the parameters of {@link readNamedObject} for the OpenAPI document. */
export function namedObjectQuery(defaultBucket: string | null): Readonly<Record<string, QueryParameter>> {
  const bucket = defaultBucket === null ? 'Required with a key.' : `Default: ${defaultBucket}.`
  return {
    key: { description: 'The key of the object. Required without an id.', schema: textSchema('key') },
    id: { description: 'The id of the object, instead of its key and bucket.', schema: ATTEMPT_ID },
    bucket: { description: bucket, schema: textSchema('bucket') },
  }
}

/** Describes the parameters of {@link readReference} for the OpenAPI document. */
export function referenceQuery(defaultBucket: string | null): Readonly<Record<string, QueryParameter>> {
  const bucket = { description: 'The bucket of the object.', schema: textSchema('bucket') }
  return {
    key: { description: 'The key of the object.', required: true, schema: textSchema('key') },
    bucket:
      defaultBucket === null
        ? { ...bucket, required: true }
        : { ...bucket, description: `Default: ${defaultBucket}.` },
  }
}
