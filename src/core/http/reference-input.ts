import type { ObjectReference } from '../store/records.js'
import { textSchema } from '../openapi/schemas.js'
import { checkText } from '../store/validation/text.js'
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
