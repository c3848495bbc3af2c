import { StorageError } from '../../core/errors.js'
import { essenceOf } from '../../core/http/media-type.js'
import { invalid, shown } from '../../core/store/validation/checks.js'
import { maxFileSizeOf } from './functions.js'
import type { RoutePolicy, RouteTable } from './options.js'

/** Returns the route with this name, or the only one. @throws StorageError `VALIDATION_ERROR` (`route`) */
export function routeOf(table: RouteTable, name: unknown): RoutePolicy {
  const [only] = table.values()
  if ((name === undefined || name === null) && only) {
    if (table.size === 1) return only
    throw invalid('route', 'must be set, because the server has more than one upload route.')
  }
  const route = typeof name === 'string' ? table.get(name) : undefined
  if (!route) throw invalid('route', `must be the name of an upload route (got ${shown(name)}).`)
  return route
}

/** A file, its owner, and the request that announces it, if there is one. */
interface AnnouncedFile {
  readonly contentType: string
  /** Bytes. */
  readonly size: number
  /** The largest file that the storage takes in this way, in bytes. */
  readonly maxSize: number
  readonly scope: string
  readonly request?: Request
}

/**
 * Checks that a route accepts a file.
 * @throws StorageError `FILE_TOO_LARGE`, `CONTENT_TYPE_NOT_ALLOWED`, `INTERNAL_ERROR` if a function of the route fails.
 */
export async function checkAccepted(route: RoutePolicy, file: AnnouncedFile): Promise<void> {
  const { contentType, size, maxSize, scope, request } = file
  checkFileSize(maxSize, size)
  const max = await maxFileSizeOf(route, scope, request)
  if (max !== null) checkFileSize(max, size)
  checkContentType(route, contentType)
}

/** @throws StorageError `CONTENT_TYPE_NOT_ALLOWED` */
export function checkContentType(
  { contentTypes }: Pick<RoutePolicy, 'contentTypes'>,
  contentType: string,
): void {
  if (contentTypes === null) return
  const essence = essenceOf(contentType)
  const wildcard = `${essence.slice(0, essence.indexOf('/'))}/*`
  if (contentTypes.includes(essence) || contentTypes.includes(wildcard)) return
  const allowed = contentTypes.join(', ')
  throw new StorageError('CONTENT_TYPE_NOT_ALLOWED', {
    message: `contentType must be one of ${allowed} (got ${contentType}).`,
    params: { contentType, allowed },
  })
}

function checkFileSize(max: number, size: number): void {
  if (size <= max) return
  throw new StorageError('FILE_TOO_LARGE', {
    message: `size must be at most ${max} bytes (got ${size}).`,
    params: { max, size },
  })
}
