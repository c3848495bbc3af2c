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

type LiveRequest = new (source: RequestSource, url: string, signal: () => AbortSignal) => Request

let liveRequestClass: LiveRequest | undefined

/**
 * Creates a `Request` without a body, whose headers are those of the source when they are read. Copies of it keep the headers
 * they were made with.
 *
 * Its signal is created on demand, because few handlers use it, and passing one to the constructor takes longer than the rest
 * of it. A `clone()` has the same signal; a copy by `new Request(request)` has one that never aborts.
 */
export function liveRequest(source: RequestSource, url: string, signal: () => AbortSignal): Request {
  return new (liveRequestClass ??= createClass())(source, url, signal)
}

/**
 * Creates the class at its first use, because Node loads its `Request` when it is mentioned. A class, because defining the same
 * properties on every request takes several times as long.
 */
function createClass(): LiveRequest {
  /** Returns what a `Request` would have without the properties of the class. */
  const own = (request: Request, name: 'headers' | 'method'): unknown =>
    Reflect.get(Request.prototype, name, request)

  return class Live extends Request {
    readonly #live: LiveHeaders
    readonly #method: string
    readonly #signal: () => AbortSignal

    constructor(source: RequestSource, url: string, signal: () => AbortSignal) {
      const method = source.method!
      const isForbidden = FORBIDDEN_METHODS.has(method)
      // The library has no path for OPTIONS either, so a copy of the Request gets the same response.
      super(url, { method: isForbidden ? 'OPTIONS' : method })
      this.#live = new LiveHeaders(own(this, 'headers') as Headers, source)
      this.#method = isForbidden ? method : (own(this, 'method') as string)
      this.#signal = signal
    }

    // Not members of the class, because the types of some runtimes declare them as properties.
    static {
      Object.defineProperties(this.prototype, {
        [LIVE_HEADERS]: {
          get(this: Live) {
            return this.#live
          },
        },
        headers: {
          get(this: Live) {
            return this.#live.current()
          },
        },
        method: {
          get(this: Live) {
            return this.#method
          },
        },
        signal: {
          get(this: Live) {
            return this.#signal()
          },
        },
        clone: {
          value(this: Live) {
            // Reading them updates the headers that the clone receives.
            void this.headers
            return withSignal(Request.prototype.clone.call(this), this.#signal)
          },
        },
      })
    }
  }
}

function withSignal(request: Request, signal: () => AbortSignal): Request {
  const clone = (): Request => withSignal(Request.prototype.clone.call(request), signal)
  return Object.defineProperties(request, { signal: { get: signal }, clone: { value: clone } })
}

/** Aborts when the response is over before it was sent completely. */
export function abortUnlessSent(client: AbortController, response: ServerResponse): void {
  whenOver(response, () => {
    if (!wasSent(response)) client.abort()
  })
}
