import type { ErrorCode } from '../../core/errors.js'
import type { JsonSchema } from '../../core/http/endpoint-description.js'
import { BYTES, METADATA, nullable, textSchema, withProperties } from '../../core/openapi/schemas.js'
import type { RouteTable } from '../options/upload-routes.js'

/** What the body of a request that begins an upload is like, for the API's document. */
export function announcementBody(routes: RouteTable): JsonSchema {
  const names: JsonSchema = { type: 'string', enum: [...routes.keys()] }
  const isOptional = routes.size === 1
  return withProperties(
    {
      route: isOptional ? nullable(names) : names,
      filename: textSchema('filename'),
      contentType: textSchema('contentType', 'A media type.'),
      size: BYTES,
      metadata: nullable(METADATA),
    },
    ['metadata', ...(isOptional ? ['route'] : [])],
  )
}

/** What may keep an upload from beginning, beside a storage that doesn't answer. */
export const ANNOUNCEMENT_ERRORS: readonly ErrorCode[] = [
  'VALIDATION_ERROR',
  'FORBIDDEN',
  'OBJECT_NOT_FOUND',
  'KEY_CONFLICT',
  'QUOTA_EXCEEDED',
  'FILE_TOO_LARGE',
  'CONTENT_TYPE_NOT_ALLOWED',
]
