import type { ObjectReference } from '../records.js'
import { checkText } from '../validation/text.js'
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
