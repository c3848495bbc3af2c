import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { withClientSignal } from './client-signal.js'
import { requestURL, type RequestLocation } from './request-url.js'

/** Registered, so that the ESM and the CommonJS build agree on the `Request` of a message. */
const REQUEST = Symbol.for('@svc/db/request')

/** `Request` refuses them. */
const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

/**
 * The `Request` of a message, made when it is first asked for.
 *
 * It is kept on the array of raw headers: an object that stands in for the message (a proxy, one with the message as its
 * prototype, a copy of its properties) has another identity but the same array.
 */
export function requestOnce(message: IncomingMessage, make: () => Request): Request {
  const carrier = message.rawHeaders as string[] & { [REQUEST]?: Request }
  const known = carrier[REQUEST]
  if (known) return known
  const request = make()
  Object.defineProperty(carrier, REQUEST, { value: request })
  return request
}

/**
 * A message as a `Request`, without its body: making one touches nothing of the stream, so any body parser may still
 * come. `signal` aborts when the client leaves before the response is finished.
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
  // No path of the library takes OPTIONS either, so whoever copies the Request gets the same answer.
  const request = new Request(url, { method: isForbidden ? 'OPTIONS' : method, headers })
  if (isForbidden) Object.defineProperty(request, 'method', { value: method })
  return withClientSignal(request, response)
}

/**
 * The headers as the framework and its middleware see them, which may have added or removed some. Values are byte for
 * byte what was sent: Node and `Headers` both hold a byte a character.
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
    // What no request could carry as a header, this one doesn't: HTTP/2's own, such as `:path`, or a middleware's.
  }
}
