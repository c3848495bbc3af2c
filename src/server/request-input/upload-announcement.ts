import { StorageError } from '../../core/errors.js'
import type { ObjectMetadata } from '../../core/store/records.js'
import { checkMetadata } from '../../core/store/validation/metadata.js'
import { checkSize, optional } from '../../core/store/validation/scalars.js'
import { checkText } from '../../core/store/validation/text.js'
import { checkMediaType } from '../options/media-type.js'
import { attemptStorageKey, randomKey } from './object-keys.js'
import { acceptsType, routeOf, type RoutePolicy, type RouteTable } from '../options/upload-routes.js'

/** An upload that a client wishes to begin, checked, with the key that it will have. */
export interface UploadAnnouncement {
  readonly route: RoutePolicy
  readonly key: string
  readonly filename: string
  readonly contentType: string
  /** Bytes. */
  readonly size: number
  readonly metadata: ObjectMetadata | null
  /** Where the bytes of an attempt at this upload lie; of no other attempt, ever. */
  storageKeyOf(attemptId: string): string
}

export interface AnnouncementRules {
  readonly routes: RouteTable
  /** The most bytes that the bucket takes in this kind of upload. */
  readonly maxSize: number
  readonly scope: string
  /** Is told the route before it refuses anything. */
  readonly known: { route: string | null }
}

/**
 * Reads the body of a request that begins an upload, and makes the key.
 * @throws StorageError `VALIDATION_ERROR`, `FILE_TOO_LARGE` or `CONTENT_TYPE_NOT_ALLOWED`.
 */
export async function readAnnouncement(
  body: Readonly<Record<string, unknown>>,
  { routes, maxSize, scope, known }: AnnouncementRules,
): Promise<UploadAnnouncement> {
  const route = routeOf(routes, body['route'])
  known.route = route.name
  const filename = checkText('filename', body['filename'])
  const contentType = checkMediaType(body['contentType'])
  const size = checkSize('size', body['size'])
  refuseSizeAbove(maxSize, size)
  if (route.maxFileSize !== null) refuseSizeAbove(route.maxFileSize, size)
  if (!acceptsType(route, contentType)) throw typeNotAllowed(route, contentType)
  const metadata = optional(body['metadata'], checkMetadata)
  return { route, filename, contentType, size, metadata, ...(await makeKey(route, scope, filename)) }
}

/** A key of ours never repeats, so that its bytes may lie there; under one that may, each attempt needs a place of its own. */
async function makeKey(
  route: RoutePolicy,
  scope: string,
  filename: string,
): Promise<Pick<UploadAnnouncement, 'key' | 'storageKeyOf'>> {
  if (route.key === null) {
    const key = randomKey(route.name)
    return { key, storageKeyOf: () => key }
  }
  const key = checkText('key', await route.key({ scope, filename, route: route.name }))
  return { key, storageKeyOf: (attemptId) => attemptStorageKey(key, attemptId) }
}

function refuseSizeAbove(max: number, size: number): void {
  if (size <= max) return
  throw new StorageError('FILE_TOO_LARGE', {
    message: `The file has ${size} bytes; at most ${max} are taken here.`,
    params: { max, size },
  })
}

function typeNotAllowed({ contentTypes }: RoutePolicy, contentType: string): StorageError {
  const allowed = (contentTypes ?? []).join(', ')
  return new StorageError('CONTENT_TYPE_NOT_ALLOWED', {
    message: `Files of type ${contentType} are not accepted here, only ${allowed}.`,
    params: { contentType, allowed },
  })
}
