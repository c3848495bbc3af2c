import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { requestURL, type RequestLocation } from './request-url.js'
import { wasSent, whenOver } from './response-over.js'

/** A registered symbol, which the ESM and the CommonJS build share. */
const REQUEST = Symbol.for('@svc/db/request')

/** Methods that the `Request` constructor rejects. */
const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

/**
 * Returns the `Request` of a message, and creates it on the first call.
 *
 * It is stored on the array of raw headers, because middleware may replace the message by a proxy, a copy or an object that
 * inherits from it, all of which have the same array.
 */
export function requestOnce(message: IncomingMessage, create: () => Request): Request {
  const carrier = message.rawHeaders as string[] & { [REQUEST]?: Request }
  const known = carrier[REQUEST]
  if (known) return known
  const request = create()
  Object.defineProperty(carrier, REQUEST, { value: request })
  return request
}

/**
 * Creates a `Request` without a body from a message. Doesn't touch the stream, so body parsers still work afterwards.
 * `signal` aborts if the client disconnects before the response is finished.
 */
export function createRequest(
  message: IncomingMessage,
  response: ServerResponse | undefined,
  location: RequestLocation,
): Request {
  const headers = webHeaders(message.headers)
  const url = requestURL(location)
  const method = message.method!
  const isForbidden = FORBIDDEN_METHODS.has(method)
  // The library has no path for OPTIONS either, so a copy of the Request gets the same response.
  const request = new Request(url, { method: isForbidden ? 'OPTIONS' : method, headers })
  if (isForbidden) Object.defineProperty(request, 'method', { value: method })
  let client: AbortController | undefined
  return withSignal(request, () => (client ??= abortedBy(response)).signal)
}

/**
 * Converts headers as the framework and its middleware see them. Values keep their bytes, because Node and `Headers` both
 * represent a byte as a character.
 */
function webHeaders(headers: IncomingHttpHeaders): Headers {
  const result = new Headers()
  for (const [name, values] of Object.entries(headers)) {
    for (const value of [values ?? []].flat()) append(result, name, value)
  }
  return result
}

function append(headers: Headers, name: string, value: string): void {
  try {
    headers.append(name, value)
  } catch {
    // Skips invalid headers: pseudo-headers of HTTP/2, such as `:path`, and what middleware may have added.
  }
}

/**
 * Defines `signal` lazily, because few handlers use it, and passing a signal to the constructor takes longer than the rest
 * of it. A `clone()` has the same signal; a copy by `new Request(request)` has one that never aborts.
 */
function withSignal(request: Request, signal: () => AbortSignal): Request {
  return Object.defineProperties(request, {
    signal: { get: signal },
    clone: { value: () => withSignal(Request.prototype.clone.call(request), signal) },
  })
}

function abortedBy(response: ServerResponse | undefined): AbortController {
  const client = new AbortController()
  if (response) {
    whenOver(response, () => {
      if (!wasSent(response)) client.abort()
    })
  }
  return client
}
