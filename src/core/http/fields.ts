import type { JsonSchema } from '../json.js'
import { attemptId, NO_TIME, optional, type ReadOf, text } from '../store/inputs/fields.js'
import type { ObjectReference } from '../store/records.js'
import { invalid } from '../store/validation/checks.js'

/** One field of a query or of a JSON body. The fields of the store's calls are such fields, too. */
export interface HttpField<Read = unknown> {
  readonly isRequired: boolean
  /** The value in the OpenAPI document. */
  readonly schema: JsonSchema
  /** One sentence about the field in this request. */
  readonly description?: string
  /**
   * Reads the value that was sent, `undefined` or `null` for none. In a query, it is a string.
   * @throws StorageError `VALIDATION_ERROR`
   */
  readonly read: (value: unknown, name: string, now: Date) => Read
}

/** The fields by name, in the order in which they are read. The parser, its type and the OpenAPI document follow from them. */
export type HttpFields = Readonly<Record<string, HttpField>>

/** The values that a query or a body has. */
export interface SentValues {
  /** Returns `undefined` or `null` for none. @throws StorageError `VALIDATION_ERROR` if it can't be read. */
  get(name: string): unknown
}

export function readSent<List extends HttpFields>(list: List, sent: SentValues): ReadOf<List> {
  const values: Record<string, unknown> = {}
  for (const name in list) values[name] = list[name]!.read(sent.get(name), name, NO_TIME)
  return values as ReadOf<List>
}

export function described<One extends HttpField>(field: One, description: string): One {
  return { ...field, description }
}

export function bucketOr(defaultBucket: string): HttpField<string> {
  return described(
    optional(text('bucket'), () => defaultBucket),
    `Default: ${defaultBucket}.`,
  )
}

export function referenceFields(defaultBucket: string) {
  return { bucket: bucketOr(defaultBucket), key: described(text('key'), 'The key of the object.') }
}

/** Names an object by its key, or by its id. */
export type NamedObject = ObjectReference | { readonly id: string }

const KEY = text('key')
const BUCKET = text('bucket')

/** The fields of {@link readNamedObject}. `null`: there is no default bucket. */
export function namedObjectFields(defaultBucket: string | null) {
  return {
    key: described(optional(KEY), 'The key of the object. Required without an id.'),
    id: described(optional(attemptId), 'The id of the object, instead of its key and bucket.'),
    bucket: described(
      optional(BUCKET),
      defaultBucket === null ? 'Required with a key.' : `Default: ${defaultBucket}.`,
    ),
  }
}

/** Reads either an id, or a key and a bucket. @throws StorageError `VALIDATION_ERROR` */
export function readNamedObject(sent: SentValues, defaultBucket: string | null): NamedObject {
  const id = sent.get('id')
  const key = sent.get('key')
  if (id !== null) {
    if (key !== null) throw invalid('key', 'must not be given together with id.')
    if (sent.get('bucket') !== null) throw invalid('bucket', 'must not be given together with id.')
    return { id: attemptId.read(id, 'id', NO_TIME) }
  }
  if (key === null) throw invalid('key', 'or id must be given.')
  return {
    bucket: BUCKET.read(sent.get('bucket') ?? defaultBucket, 'bucket', NO_TIME),
    key: KEY.read(key, 'key', NO_TIME),
  }
}
