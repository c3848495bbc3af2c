import { originForm } from './request-target.js'

/** Where a request went, as the framework sees it: behind a proxy, only what a trusted proxy says. */
export interface RequestLocation {
  readonly protocol: string
  /** Host and port, straight from a header. */
  readonly host: string | undefined
  /** Any form of request target. */
  readonly target: string
}

/** Registered names and addresses: nothing that could end the authority, or be credentials, in a URL. */
const HOST = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/** Stands in for a host that is missing or could not be one. */
const UNKNOWN_HOST = 'localhost'

/**
 * The absolute URL of a request. Made by concatenation: a target resolved against a base, such as `//elsewhere/path`,
 * could name another host.
 */
export function requestURL({ protocol, host, target }: RequestLocation): string {
  const scheme = protocol === 'https' ? 'https' : 'http'
  const known = host !== undefined && HOST.test(host) && URL.canParse(`${scheme}://${host}`)
  return `${scheme}://${known ? host : UNKNOWN_HOST}${originForm(target)}`
}
