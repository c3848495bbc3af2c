import type { JsonSchema } from '../http/endpoint-description.js'
import { OBJECT_STATUSES } from '../store/records.js'
import { MAX_METADATA_BYTES, MAX_METADATA_ENTRIES } from '../store/validation/metadata.js'
import { TEXT_LIMITS, type TextField } from '../store/validation/checks.js'

/** A reference to the schema of an object, which the document defines once. */
export const OBJECT: JsonSchema = { $ref: '#/components/schemas/Object' }

/** Returns the schema of a string within the limits of its field. */
export function textSchema(field: TextField, description?: string): JsonSchema {
  const { max, unit } = TEXT_LIMITS[field]
  // JSON Schema counts characters. A string never has more characters than bytes.
  const limit = unit === 'characters' ? '' : `At most ${max} ${unit}.`
  const said = [description, limit].filter(Boolean).join(' ')
  return { type: 'string', minLength: 1, maxLength: max, ...(said && { description: said }) }
}

/** Returns the schema of an optional field of a body, which may also be `null`. */
export function nullable(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { type: 'null' }] }
}

/** Returns the schema of an object. Properties are required unless listed in `optional`. Others are allowed: minor releases may add some. */
export function withProperties(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}

export const BYTES: JsonSchema = {
  type: 'integer',
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Bytes.',
}

export const MOMENT: JsonSchema = { type: 'string', format: 'date-time' }

export const SIGNED_URL: JsonSchema = {
  type: 'string',
  format: 'uri',
  description: 'Signed. Anyone who has the URL can use it.',
}

/** The format of `createAttemptId`. */
export const ATTEMPT_ID: JsonSchema = {
  type: 'string',
  format: 'uuid',
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
}

export const METADATA: JsonSchema = {
  type: 'object',
  maxProperties: MAX_METADATA_ENTRIES,
  additionalProperties: { type: 'string' },
  description: `Names and values together at most ${MAX_METADATA_BYTES} bytes of UTF-8.`,
}

export const STATUS: JsonSchema = { type: 'string', enum: OBJECT_STATUSES }

const FILES: JsonSchema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

export const USAGE: JsonSchema = withProperties({
  bytes: { ...BYTES, description: 'Bytes of active objects.' },
  files: { ...FILES, description: 'Number of active objects.' },
  reservedBytes: { ...BYTES, description: 'Bytes by which pending uploads would grow the usage.' },
  reservedFiles: { ...FILES, description: 'Number of keys with a pending upload and no active object.' },
})

export const QUOTA: JsonSchema = withProperties({ maxBytes: BYTES, maxFiles: FILES }, [
  'maxBytes',
  'maxFiles',
])

/** The result of `toClientObject`. */
export const OBJECT_SCHEMA: JsonSchema = withProperties(
  {
    id: ATTEMPT_ID,
    bucket: textSchema('bucket'),
    key: textSchema('key'),
    status: STATUS,
    createdAt: MOMENT,
    filename: textSchema('filename'),
    contentType: textSchema('contentType'),
    size: { ...BYTES, description: 'Verified bytes. Absent while pending.' },
    declaredSize: { ...BYTES, description: 'Declared bytes. Only while pending.' },
    route: textSchema('route', 'The upload route that created it.'),
  },
  ['filename', 'contentType', 'size', 'declaredSize', 'route'],
)
