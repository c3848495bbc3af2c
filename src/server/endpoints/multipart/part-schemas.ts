import type { JsonSchema } from '../../../core/http/endpoint-description.js'
import { BYTES } from '../../../core/openapi/schemas.js'
import { MAX_PARTS } from '../../attempts/part-sizes.js'

export const PART_NUMBER: JsonSchema = { type: 'integer', minimum: 1, maximum: MAX_PARTS }

export const PART_SIZE: JsonSchema = {
  ...BYTES,
  minimum: 1,
  description: 'Size of every part except the last, in bytes. The last may be smaller.',
}
