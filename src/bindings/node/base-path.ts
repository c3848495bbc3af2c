import { pathOf } from './request-url.js'

/** The path of a request as a framework has split it. */
export interface MountedPath {
  /** The part that the framework's routers have matched. */
  readonly mount: string
  /** The rest, starting with a slash. */
  readonly path: string
}

/**
 * Returns the path below the base path: `''`, or a path starting with a slash. Returns `null` for other requests. The base
 * path is either the end of the mount path or the start of the rest.
 */
export function belowBase(basePath: string, { mount, path }: MountedPath): string | null {
  if (mount.endsWith(basePath)) return path
  if (!path.startsWith(basePath)) return null
  const rest = path.slice(basePath.length)
  return rest === '' || rest.startsWith('/') ? rest : null
}

/**
 * Returns the base path as it appears in the URL of a request with the path `whole`, of which `rest` is below the base.
 *
 * If `URL` normalizes the path (`..`), or a router has dropped a slash, the routers have matched a different path, and
 * accepting it would bypass their guards. The result is then `whole`, which has no endpoints below it.
 */
export function basePathInURL(request: Request, whole: string, rest: string): string {
  if (pathInURL(request.url) !== whole || !whole.endsWith(rest)) return whole
  const base = whole.slice(0, whole.length - rest.length)
  return base.endsWith('/') ? whole : base
}

/** Returns the path of an absolute URL that is normalized already, as that of a `Request` is. */
export function pathInURL(url: string): string {
  return pathOf(url.slice(url.indexOf('/', url.indexOf('://') + '://'.length)))
}
