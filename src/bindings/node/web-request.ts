import type { IncomingMessage, ServerResponse } from 'node:http'
import { LiveHeaders } from './live-headers.js'
import { requestURL, type RequestLocation } from './request-url.js'
import { wasSent, whenOver } from './response-over.js'

/** A registered symbol, which the ESM and the CommonJS build share. */
const REQUEST = Symbol.for('@svc/db/request')

/** The property of a `Request` with its {@link LiveHeaders}. A registered symbol, which the core and all builds share. */
const LIVE_HEADERS = Symbol.for('@svc/db/live-headers')

type RequestOfMessage = Request & { readonly [LIVE_HEADERS]?: LiveHeaders }

/** Methods that the `Request` constructor rejects. */
const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

/**
 * Returns the `Request` of a message, and creates it on the first call. Until the scope is resolved, its headers are those of
 * the message that was passed last.
 *
 * It is stored on the array of raw headers, because middleware may replace the message by a proxy, a copy or an object that
 * inherits from it, all of which have the same array.
 */
export function requestOnce(
  message: Pick<IncomingMessage, 'rawHeaders' | 'headers'>,
  create: () => Request,
): Request {
  const carrier = message.rawHeaders as string[] & { [REQUEST]?: RequestOfMessage }
  const known = carrier[REQUEST]
  if (known) {
    known[LIVE_HEADERS]?.follow(message)
    return known
  }
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
  let client: AbortController | undefined
  function signal(): AbortSignal {
    if (client) return client.signal
    client = new AbortController()
    if (response) abortUnlessSent(client, response)
    return client.signal
  }
  return liveRequest(message, requestURL(location), signal)
}

/** What a `Request` shows of a framework's request. */
export type RequestSource = Pick<IncomingMessage, 'headers' | 'method'>

/** Creates a `Request` without a body, whose headers are those of the source when they are read. */
export function liveRequest(source: RequestSource, url: string, signal: () => AbortSignal): Request {
  const method = source.method!
  const isForbidden = FORBIDDEN_METHODS.has(method)
  // The library has no path for OPTIONS either, so a copy of the Request gets the same response.
  const request = new Request(url, { method: isForbidden ? 'OPTIONS' : method })
  if (isForbidden) Object.defineProperty(request, 'method', { value: method })
  return withSignal(withLiveHeaders(request, source), signal)
}

/** Defines `headers` as what the source has when they are read. Copies of the request keep the headers they were made with. */
function withLiveHeaders(request: Request, source: RequestSource): Request {
  const live = new LiveHeaders(request.headers, source)
  return Object.defineProperties(request, {
    [LIVE_HEADERS]: { value: live },
    headers: { get: () => live.current() },
  })
}

/**
 * Defines `signal` lazily, because few handlers use it, and passing a signal to the constructor takes longer than the rest
 * of it. A `clone()` has the same signal; a copy by `new Request(request)` has one that never aborts.
 */
function withSignal(request: Request, signal: () => AbortSignal): Request {
  function clone(): Request {
    // Reading them updates the headers that the clone receives.
    void request.headers
    return withSignal(Request.prototype.clone.call(request), signal)
  }
  return Object.defineProperties(request, { signal: { get: signal }, clone: { value: clone } })
}

/** Aborts when the response is over before it was sent completely. */
export function abortUnlessSent(client: AbortController, response: ServerResponse): void {
  whenOver(response, () => {
    if (!wasSent(response)) client.abort()
  })
}
