/** The parts of an absolute URL that the router needs. */
export interface URLParts {
  readonly origin: string
  readonly pathname: string
  /** With its `?`, or `''`. */
  readonly search: string
}

/** A normalized URL as `Request.url` returns it: scheme and host, path, query and fragment. */
const HTTP_URL = /^(https?:\/\/[^/?#@]+)(\/[^?#]*)(\?[^#]*)?(?:#|$)/

/** Returns the parts of the URL of a `Request`, which is normalized already, so parsing it again would only take time. */
export function urlParts(url: string): URLParts {
  const parts = HTTP_URL.exec(url)
  return parts ? { origin: parts[1]!, pathname: parts[2]!, search: parts[3] ?? '' } : new URL(url)
}
