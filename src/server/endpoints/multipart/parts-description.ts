import type { JsonSchema } from '../../../core/http/endpoint-description.js'
import { BYTES } from '../../../core/openapi/schemas.js'
import { MAX_PARTS } from './part-sizes.js'

/** Parts of an upload, for the API's document. */

export const PART_NUMBER: JsonSchema = { type: 'integer', minimum: 1, maximum: MAX_PARTS }

export const PART_SIZE: JsonSchema = {
  ...BYTES,
  minimum: 1,
  description: 'Bytes of every part but the last, which may be shorter.',
}
