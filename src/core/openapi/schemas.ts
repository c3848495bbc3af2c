import type { JsonSchema } from '../json.js'
import { attemptId, date, integer, oneOf, size, text } from '../store/inputs/fields.js'
import { OBJECT_STATUSES } from '../store/records.js'

/** A reference to the schema of an object, which the document defines once. */
export const OBJECT: JsonSchema = { $ref: '#/components/schemas/Object' }

export function nullable(schema: JsonSchema): JsonSchema {
  return schema['type'] === 'null' ? schema : { anyOf: [schema, { type: 'null' }] }
}

/** Properties are required unless listed in `optional`. Others are allowed: minor releases may add some. */
export function withProperties(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}

export const BYTES = size.schema
export const MOMENT = date.schema

export const SIGNED_URL: JsonSchema = {
  type: 'string',
  format: 'uri',
  description: 'Signed. Anyone who has the URL can use it.',
}

const files = integer(0, Number.MAX_SAFE_INTEGER).schema

export const USAGE: JsonSchema = withProperties({
  bytes: { ...BYTES, description: 'Bytes of active objects.' },
  files: { ...files, description: 'Number of active objects.' },
  reservedBytes: { ...BYTES, description: 'Bytes by which pending uploads would grow the usage.' },
  reservedFiles: { ...files, description: 'Number of keys with a pending upload and no active object.' },
})

/** The result of `toClientObject`. */
export const OBJECT_SCHEMA: JsonSchema = withProperties(
  {
    id: attemptId.schema,
    bucket: text('bucket').schema,
    key: text('key').schema,
    status: oneOf(OBJECT_STATUSES).schema,
    createdAt: MOMENT,
    filename: text('filename').schema,
    contentType: text('contentType').schema,
    size: { ...BYTES, description: 'Verified bytes. Absent while pending, unless the bytes have arrived.' },
    declaredSize: { ...BYTES, description: 'Declared bytes. Only while pending.' },
    route: { ...text('route').schema, description: 'The upload route that created it.' },
    metadata: {
      ...{ type: 'object', additionalProperties: { type: 'string' } },
      description: 'The names that the application shows. Absent if the object has none of them.',
    },
    temporaryUntil: { ...MOMENT, description: 'When the object is gone, unless it is kept before.' },
    checking: {
      ...{ type: 'boolean', const: true },
      description: 'The bytes have arrived and are being checked. Only while pending.',
    },
  },
  [
    ...['filename', 'contentType', 'size', 'declaredSize', 'route', 'metadata'],
    ...['temporaryUntil', 'checking'],
  ],
)
