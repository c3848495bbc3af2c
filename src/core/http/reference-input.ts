import type { ObjectReference } from '../store/records.js'
import { textSchema } from '../openapi/schemas.js'
import { checkText } from '../store/validation/text.js'
import type { QueryParameter } from './endpoint-description.js'
import type { Query } from './query.js'

/**
 * The object that a query names by `key` and `bucket`. `defaultBucket` is taken where it names none; `null`: it must.
 * @throws StorageError `VALIDATION_ERROR`
 */
export function readReference(query: Query, defaultBucket: string | null): ObjectReference {
  return {
    bucket: checkText('bucket', query.get('bucket') ?? defaultBucket),
    key: checkText('key', query.get('key')),
  }
}

/** The parameters that {@link readReference} reads, for the API's document. */
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
