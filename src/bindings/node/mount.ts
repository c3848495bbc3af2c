import type { Handler, PlainHandler } from '../../core/http/handler.js'
import { pathOf } from './request.js'
import { throwError } from './response.js'

/** What a binding serves: the result of `createS3Server` or `db`. */
export interface Served {
  readonly handler: Handler
  readonly basePath: string
}

/** The property of a handler with the one for bindings. A registered symbol, which the core and all builds share. */
const PLAIN_HANDLER = Symbol.for('@svc/db/plain-handler')

/** What a binding calls. */
interface Mounted {
  readonly handler: PlainHandler
  readonly basePath: string
}

/** @throws TypeError unless the argument has a `handler` and a `basePath`. */
export function checkServed({ handler, basePath }: Served, binding: string): Mounted {
  if (typeof handler !== 'function' || typeof basePath !== 'string') {
    throw new TypeError(`${binding} expects the result of createS3Server() or db().`)
  }
  const plainHandler = (handler as { readonly [PLAIN_HANDLER]?: PlainHandler })[PLAIN_HANDLER]
  return { basePath, handler: plainHandler ?? converted(handler) }
}

/** Converts the `Response` of a function around the library's handler, which has no plain handler. */
function converted(handler: Handler): PlainHandler {
  return async (request, options) => {
    try {
      const { status, headers, body } = await handler(request, options)
      return { status, headers: [...headers], body }
    } catch (thrown) {
      throwError(thrown)
    }
  }
}

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

/** Returns the parts of a path that aren't empty. */
export function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '')
}

/** Splits a path after this number of segments. */
export function splitAfter(path: string, segments: number): MountedPath {
  const parts = path.split('/')
  const mount = parts.slice(0, segments + 1).join('/')
  return { mount, path: path.slice(mount.length) }
}
