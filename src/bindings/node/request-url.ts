/** Where a request went, as the framework sees it. Behind a proxy, only trusted proxies count. */
export interface RequestLocation {
  readonly protocol: string
  /** Host and port from a header, unchecked. */
  readonly host: string | undefined
  /** A request target in any form. */
  readonly target: string
}

/** Host names and addresses, without characters that end the authority of a URL or add credentials to it. */
const HOST = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/** Used if the host is missing or invalid. */
const UNKNOWN_HOST = 'localhost'

/**
 * Returns the absolute URL of a request. Concatenates the parts, because resolving a target such as `//elsewhere/path`
 * against a base would change the host.
 */
export function requestURL({ protocol, host, target }: RequestLocation): string {
  const scheme = protocol === 'https' ? 'https' : 'http'
  const known = host !== undefined && isHost(host)
  return `${scheme}://${known ? host : UNKNOWN_HOST}${originForm(target)}`
}

/** The host of the last request, because most requests of a server have the same one. */
let lastHost: string | undefined

function isHost(host: string): boolean {
  if (host === lastHost) return true
  if (!HOST.test(host) || !URL.canParse(`http://${host}`)) return false
  lastHost = host
  return true
}

/**
 * Returns a request target as path and query, starting with a slash. Drops the scheme and authority of an absolute target;
 * `*` becomes `/*`.
 *
 * Node decodes targets as Latin-1, and `URL` would encode the result as UTF-8. Percent-encoding the bytes preserves them.
 */
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
