import type { Handler, PlainHandler } from '../../core/http/handler.js'
import { pathOf } from './request.js'

/** What a binding serves: the result of `createS3Server` or `db`. */
export interface Served {
  readonly handler: Handler
  readonly basePath: string
}

/** @throws TypeError unless the argument has a `handler` and a `basePath`. */
export function checkServed({ handler, basePath }: Served, binding: string): void {
  if (typeof handler !== 'function' || typeof basePath !== 'string') {
    throw new TypeError(`${binding} expects the result of createS3Server() or db().`)
  }
}

/** The property of a handler with the one for bindings. A registered symbol, which the core and all builds share. */
const PLAIN_HANDLER = Symbol.for('@svc/db/plain-handler')

/** Returns the plain handler of a handler. A function around a handler has none, so its `Response` is converted. */
export function plainHandlerOf(handler: Handler): PlainHandler {
  const plainHandler = (handler as { readonly [PLAIN_HANDLER]?: PlainHandler })[PLAIN_HANDLER]
  if (plainHandler) return plainHandler
  return async (request, options) => {
    const { status, headers, body } = await handler(request, options)
    return { status, headers: [...headers], body }
  }
}

/** Wraps a thrown value that isn't an `Error`, because frameworks treat values such as `undefined` or `'route'` specially. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error('The response failed.', { cause: thrown })
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
  const mount = path
    .split('/')
    .slice(0, segments + 1)
    .join('/')
  return { mount, path: path.slice(mount.length) }
}
