import type { IncomingMessage, ServerResponse } from 'node:http'
import { LiveHeaders } from './live-headers.js'
import { wasSent, whenOver } from './response.js'

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
 * Lets {@link ownerOf} find what a framework has in place of a `Request`. Replaces an earlier one, because middleware may wrap it
 * to add properties. `name` is part of a registered symbol, which the ESM and the CommonJS build share.
 */
export function withOwner(request: Request, name: string, owner: object): Request {
  return Object.defineProperty(request, Symbol.for(`@svc/db/${name}`), { value: owner, configurable: true })
}

/** @throws TypeError unless `withOwner` was called with the same `Request`, not with a copy of it. */
export function ownerOf<Owner>(request: Request, name: string, caller: string, binding: string): Owner {
  const owner = Reflect.get(request, Symbol.for(`@svc/db/${name}`)) as Owner | undefined
  if (owner) return owner
  throw new TypeError(`${caller}() expects a Request from ${binding}() or fetchRequest(), not a copy of one.`)
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
  const client = new Client()
  if (response) client.respondWith(response)
  return liveRequest(message, requestURL(location), () => client.signal)
}

/** The client of a request. Its signal aborts if it disconnects before the response was sent completely. */
export class Client {
  #controller: AbortController | undefined
  #response: ServerResponse | undefined

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      this.#watch()
    }
    return this.#controller.signal
  }

  respondWith(response: ServerResponse): void {
    if (this.#response) return
    this.#response = response
    this.#watch()
  }

  #watch(): void {
    const [controller, response] = [this.#controller, this.#response]
    if (!controller || !response) return
    whenOver(response, () => {
      if (!wasSent(response)) controller.abort()
    })
  }
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
