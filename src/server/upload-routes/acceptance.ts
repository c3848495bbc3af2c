import { StorageError } from '../../core/errors.js'
import { essenceOf } from '../../core/http/media-type.js'
import { invalid, shown } from '../../core/store/validation/checks.js'
import type { RoutePolicy, RouteTable } from './options.js'

/** Returns the route with this name, or the only one. @throws StorageError `VALIDATION_ERROR` (`route`) */
export function routeOf(table: RouteTable, name: unknown): RoutePolicy {
  const [only, ...others] = table.values()
  if (name === undefined || name === null) {
    if (only && others.length === 0) return only
    throw invalid('route', 'must be set, because the server has more than one upload route.')
  }
  const route = typeof name === 'string' ? table.get(name) : undefined
  if (!route) throw invalid('route', `must be the name of an upload route (got ${shown(name)}).`)
  return route
}

/** Checks that a route accepts a file. @throws StorageError `FILE_TOO_LARGE`, `CONTENT_TYPE_NOT_ALLOWED` */
export function checkAccepted(
  { maxFileSize, contentTypes }: RoutePolicy,
  file: { readonly contentType: string; readonly size: number; readonly maxSize: number },
): void {
  const { contentType, size, maxSize } = file
  checkFileSize(maxSize, size)
  if (maxFileSize !== null) checkFileSize(maxFileSize, size)
  checkContentType({ contentTypes }, contentType)
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
