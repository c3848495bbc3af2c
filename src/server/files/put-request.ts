import { StorageError } from '../../core/errors.js'
import type { Quota } from '../../core/store/records.js'
import {
  checkSize,
  checkText,
  invalid,
  optional,
  quotaFlaw,
  shown,
} from '../../core/store/validation/checks.js'
import { checkMetadata } from '../../core/store/validation/metadata.js'
import { mismatch } from '../attempts/confirm-upload.js'
import { MAX_MULTIPART_SIZE } from '../attempts/part-sizes.js'
import { checkMediaType } from '../options/media-type.js'
import { routeOf, type RoutePolicy, type RouteTable } from '../options/upload-routes.js'
import {
  applicationKeys,
  buildKeys,
  checkAccepted,
  type UploadKeys,
  type UploadRequest,
} from '../request-input/upload-request.js'
import type { ByteSource } from './byte-source.js'
import type { PutFileInput } from './inputs.js'

/** A validated call of `files.put`. */
export interface PutRequest extends UploadRequest {
  readonly scope: string
  /** `null`: the quota of the scope. */
  readonly quota: Quota | null
}

const DEFAULT_TYPE = 'application/octet-stream'

/**
 * Validates the input of `files.put` and builds the key. The rules of the route apply as in `POST /upload`.
 * @throws StorageError `VALIDATION_ERROR`, `UPLOAD_MISMATCH`, `FILE_TOO_LARGE`, `CONTENT_TYPE_NOT_ALLOWED`, or what the `key`
 * function throws.
 */
export async function readPutRequest(
  input: PutFileInput,
  source: ByteSource,
  routes: RouteTable,
): Promise<PutRequest> {
  const scope = checkText('scope', input.scope)
  const route = routeOf(routes, input.route)
  const filename = optional(input.filename, (given) => checkText('filename', given))
  const contentType = checkMediaType(input.contentType ?? source.contentType ?? DEFAULT_TYPE)
  const size = sizeOf(input, source)
  checkAccepted(route, { contentType, size, maxSize: MAX_MULTIPART_SIZE })
  const metadata = optional(input.metadata, checkMetadata)
  const quota = optional(input.quota, checkQuota)
  const keys = await keysOf(route, scope, filename, input.key)
  return { scope, route, filename, contentType, size, metadata, quota, ...keys }
}

function sizeOf({ size }: PutFileInput, source: ByteSource): number {
  const given =
    source.size === null ? checkSize('size', size) : optional(size, (value) => checkSize('size', value))
  if (given !== null && source.size !== null && given !== source.size) {
    throw mismatch(`The body has ${source.size} bytes, and size is ${given}.`)
  }
  return given ?? source.size ?? 0
}

function checkQuota(value: unknown): Quota {
  const flaw = quotaFlaw('quota', value)
  if (flaw) throw new StorageError('VALIDATION_ERROR', { message: `${flaw}.`, params: { field: 'quota' } })
  return value as Quota
}

function keysOf(
  route: RoutePolicy,
  scope: string,
  filename: string | null,
  key: string | null | undefined,
): UploadKeys | Promise<UploadKeys> {
  if (key !== undefined && key !== null) return applicationKeys(key)
  if (route.key !== null && filename === null) {
    throw invalid(
      'filename',
      `must be set, because the upload route ${shown(route.name)} builds its keys from it. Or pass a key.`,
    )
  }
  return buildKeys(route, scope, filename ?? '')
}
