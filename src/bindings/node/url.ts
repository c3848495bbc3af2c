/** Where a request went, as the framework sees it. Behind a proxy, only trusted proxies count. */
export interface RequestLocation {
  readonly protocol: string
  /** Host and port from a header, unchecked. */
  readonly host: string | undefined
  /** A trusted proxy's `X-Forwarded-Port`, unchecked. */
  readonly port?: string | readonly string[] | undefined
  /** A request target in any form. */
  readonly target: string
}

/** Host names and addresses, without characters that end the authority of a URL or add credentials to it. */
const HOST = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/**
 * Concatenates the URL of a request, because a target such as `//elsewhere/path` would change the host. An invalid host becomes
 * `localhost`. A forwarded port is added, but not 80 or 443, which can be that of an inner proxy.
 */
export function requestURL({ protocol, host: given, port, target }: RequestLocation): string {
  const scheme = protocol === 'https' ? 'https' : 'http'
  const isAdded =
    given && /^\d+$/.test(String(port)) && port !== '80' && port !== '443' && !/:\d+$/.test(given)
  const host = isAdded ? `${given}:${String(port)}` : given
  const known = host !== undefined && HOST.test(host) && URL.canParse(`http://${host}`)
  return `${scheme}://${known ? host : 'localhost'}${originForm(target)}`
}

/** Returns a target as path and query. Node decodes it as Latin-1, so its bytes are percent-encoded as they are. */
export function originForm(target: string): string {
  const rest = target.startsWith('/') ? target : target.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#\\]*/i, '')
  const path = rest.startsWith('/') ? rest : `/${rest}`
  if (!/[\x80-\xff]/.test(path)) return path
  return path.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Returns the path of a target in origin form, still percent-encoded. */
export function pathOf(target: string): string {
  const end = target.search(/[?#]/)
  return end < 0 ? target : target.slice(0, end)
}

/** Returns the mount path, which precedes the remaining one, or `''` if the application has rewritten the path. */
export function mountBefore(requested: string, path: string): string {
  if (requested.endsWith(path)) return requested.slice(0, -path.length)
  // If the path ends with the mount path, routers add a slash that the client hasn't sent.
  return path === '/' ? requested : ''
}

/** The path of a request as a framework has split it. */
export interface MountedPath {
  /** The part that the framework's routers have matched. */
  readonly mount: string
  /** The rest, starting with a slash. */
  readonly path: string
}

/** Returns the path below the base path, `''` or from a slash on, or `null`. The base ends the mount path or starts the rest. */
export function belowBase(basePath: string, { mount, path }: MountedPath): string | null {
  if (mount.endsWith(basePath)) return path
  if (!path.startsWith(basePath)) return null
  const rest = path.slice(basePath.length)
  return rest === '' || rest.startsWith('/') ? rest : null
}

/**
 * Returns the base path in the URL of a request with the path `whole`. If `URL` normalizes the path, the routers have matched another
 * one, and accepting it would bypass their guards. The result is then `whole`, below which there are no endpoints.
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
