import { StorageError, toStorageError, type ErrorCode } from '../../core/errors.js'
import type { JsonSchema } from '../../core/http/endpoint-description.js'
import { BYTES, METADATA, nullable, textSchema, withProperties } from '../../core/openapi/schemas.js'
import type { ObjectMetadata } from '../../core/store/records.js'
import { checkSize, checkText, invalid, optional, shown } from '../../core/store/validation/checks.js'
import { checkMetadata } from '../../core/store/validation/metadata.js'
import { checkMediaType } from '../options/media-type.js'
import {
  acceptsType,
  routeOf,
  type MetadataContext,
  type RoutePolicy,
  type RouteTable,
} from '../options/upload-routes.js'
import { attemptStorageKey, randomKey } from './object-keys.js'

/** A validated request to start an upload, with the key that it will have. */
export interface UploadRequest extends UploadKeys {
  readonly route: RoutePolicy
  readonly filename: string | null
  readonly contentType: string
  /** Bytes. */
  readonly size: number
  readonly metadata: ObjectMetadata | null
}

/** The key of an object, and those of its bytes. */
export interface UploadKeys {
  readonly key: string
  /** Returns the storage key of an attempt. No two attempts share one. */
  storageKeyOf(attemptId: string): string
}

export interface UploadRules {
  readonly routes: RouteTable
  /** Largest size that S3 accepts for this kind of upload, in bytes. */
  readonly maxSize: number
  readonly scope: string
  readonly request: Request
  /** Receives the route's name before any other check, for error reports and traces. */
  readonly known: { route: string | null }
}

/** The errors that can refuse an upload request, apart from `STORAGE_UNAVAILABLE`. */
export const UPLOAD_REQUEST_ERRORS: readonly ErrorCode[] = [
  'VALIDATION_ERROR',
  'FORBIDDEN',
  'OBJECT_NOT_FOUND',
  'KEY_CONFLICT',
  'QUOTA_EXCEEDED',
  'FILE_TOO_LARGE',
  'CONTENT_TYPE_NOT_ALLOWED',
]

/** Returns the JSON schema of the request body, for the OpenAPI document. */
export function uploadRequestBody(routes: RouteTable): JsonSchema {
  const names: JsonSchema = { type: 'string', enum: [...routes.keys()] }
  const isOptional = routes.size === 1
  const refusing = [...routes.values()].filter(({ metadata }) => metadata === false).map(({ name }) => name)
  return withProperties(
    {
      route: isOptional ? nullable(names) : names,
      filename: textSchema('filename'),
      contentType: textSchema('contentType', 'A media type.'),
      size: BYTES,
      metadata: metadataSchema(refusing, refusing.length === routes.size),
    },
    ['metadata', ...(isOptional ? ['route'] : [])],
  )
}

function metadataSchema(refusing: readonly string[], allRefuse: boolean): JsonSchema {
  if (allRefuse) return { type: 'null', description: 'The server refuses metadata from clients.' }
  if (refusing.length === 0) return nullable(METADATA)
  return { ...nullable(METADATA), description: `Refused by the routes ${refusing.join(', ')}.` }
}

/**
 * Validates the body of a request that starts an upload, and builds the key and the metadata.
 * @throws StorageError `VALIDATION_ERROR`, `FILE_TOO_LARGE`, `CONTENT_TYPE_NOT_ALLOWED`, or what a function of the route throws.
 */
export async function readUploadRequest(
  body: Readonly<Record<string, unknown>>,
  { routes, maxSize, scope, request, known }: UploadRules,
): Promise<UploadRequest> {
  const route = routeOf(routes, body['route'])
  known.route = route.name
  const filename = checkText('filename', body['filename'])
  const contentType = checkMediaType(body['contentType'])
  const size = checkSize('size', body['size'])
  checkAccepted(route, { contentType, size, maxSize })
  const given = readMetadata(route, body['metadata'])
  const keys = await buildKeys(route, scope, filename)
  const metadata = await buildMetadata(route, given, { request, scope })
  return { route, filename, contentType, size, metadata, ...keys }
}

/** Returns the metadata that the client sent, or `null`. @throws StorageError `VALIDATION_ERROR` */
function readMetadata({ name, metadata }: RoutePolicy, value: unknown): ObjectMetadata | null {
  return optional(value, (given) => {
    if (metadata !== false) return checkMetadata(given)
    throw invalid('metadata', `must not be set, because the upload route ${shown(name)} refuses it.`)
  })
}

/** Returns the metadata to store. @throws StorageError `INTERNAL_ERROR` if the route's function returns an invalid value. */
async function buildMetadata(
  { name, metadata }: RoutePolicy,
  given: ObjectMetadata | null,
  context: MetadataContext,
): Promise<ObjectMetadata | null> {
  if (typeof metadata !== 'function') return given
  const result: unknown = await metadata(given, context)
  // Only an explicit `null` means "none". `undefined` is probably a forgotten return statement.
  if (result === null) return null
  try {
    return checkMetadata(result)
  } catch (error) {
    // Without a cause, because `onError` would get it instead of a message that names the route.
    const message = `The metadata function of the upload route ${shown(name)} failed: ${toStorageError(error).message}`
    throw new StorageError('INTERNAL_ERROR', { message })
  }
}

/** Returns the keys that the route chooses. A random key is never reused, so it is also the storage key. */
export async function buildKeys(route: RoutePolicy, scope: string, filename: string): Promise<UploadKeys> {
  if (route.key !== null) return applicationKeys(await route.key({ scope, filename, route: route.name }))
  const key = randomKey(route.name)
  return { key, storageKeyOf: () => key }
}

/** Returns the keys for a key that the application chose. Each attempt gets its own storage key. */
export function applicationKeys(value: unknown): UploadKeys {
  const key = checkText('key', value)
  return { key, storageKeyOf: (attemptId) => attemptStorageKey(key, attemptId) }
}

/** Checks that a route accepts a file. @throws StorageError `FILE_TOO_LARGE`, `CONTENT_TYPE_NOT_ALLOWED` */
export function checkAccepted(
  route: RoutePolicy,
  {
    contentType,
    size,
    maxSize,
  }: { readonly contentType: string; readonly size: number; readonly maxSize: number },
): void {
  checkFileSize(maxSize, size)
  if (route.maxFileSize !== null) checkFileSize(route.maxFileSize, size)
  if (!acceptsType(route, contentType)) throw typeNotAllowed(route, contentType)
}

function checkFileSize(max: number, size: number): void {
  if (size <= max) return
  throw new StorageError('FILE_TOO_LARGE', {
    message: `size must be at most ${max} bytes (got ${size}).`,
    params: { max, size },
  })
}

function typeNotAllowed({ contentTypes }: RoutePolicy, contentType: string): StorageError {
  const allowed = (contentTypes ?? []).join(', ')
  return new StorageError('CONTENT_TYPE_NOT_ALLOWED', {
    message: `contentType must be one of ${allowed} (got ${contentType}).`,
    params: { contentType, allowed },
  })
}
