import type { IncomingMessage, ServerResponse } from 'node:http'
import { LiveHeaders } from './live-headers.js'
import { whenOver } from './response.js'

/** The properties that bindings add. Registered symbols, which the core and all builds share. */
const REQUEST = Symbol.for('@svc/db/request')
const LIVE_HEADERS = Symbol.for('@svc/db/live-headers')
const CLIENT = Symbol.for('@svc/db/client')

/** What a `Request` shows of a framework's request. */
export type RequestSource = Pick<IncomingMessage, 'headers' | 'method'>

type BoundRequest = Request & { readonly [LIVE_HEADERS]?: LiveHeaders; readonly [CLIENT]?: Client }

/**
 * Returns the `Request` of a message, and creates it on the first call. Its `signal` aborts if the client disconnects before the
 * response is finished, once the response is known.
 *
 * It is stored on the array of raw headers, because middleware may replace the message by a proxy, a copy or an object that
 * inherits from it, all of which have the same array.
 */
export function requestOf(
  message: RequestSource & Pick<IncomingMessage, 'rawHeaders'>,
  response: ServerResponse | undefined,
  locate: () => RequestLocation,
): Request {
  const create = () => liveRequest(message, requestURL(locate()), new Client())
  const request = requestOnce(message.rawHeaders, message, create)
  if (response) request[CLIENT]?.respondWith(response)
  return request
}

/**
 * Returns the `Request` that the carrier has as a property, and creates it on the first call. Until the scope is resolved, its
 * headers are those of the source that was passed last.
 */
export function requestOnce(carrier: object, source: RequestSource, create: () => Request): BoundRequest {
  const known = (carrier as { readonly [REQUEST]?: BoundRequest })[REQUEST]
  if (known) {
    known[LIVE_HEADERS]?.follow(source)
    return known
  }
  const request = create()
  Object.defineProperty(carrier, REQUEST, { value: request })
  return request
}

/**
 * Lets {@link ownerOf} find what a framework has in place of a `Request`. Replaces an earlier one, because middleware may wrap it
 * to add properties. `name` is that of a registered symbol, which the ESM and the CommonJS build share.
 */
export function withOwner(request: Request, name: string, owner: object): Request {
  return Object.defineProperty(request, Symbol.for(name), { value: owner, configurable: true })
}

/** @throws TypeError unless `withOwner` was called with the same `Request`, not with a copy of it. */
export function ownerOf<Owner>(request: Request, name: string, caller: string, binding: string): Owner {
  const owner = Reflect.get(request, Symbol.for(name)) as Owner | undefined
  if (owner) return owner
  throw new TypeError(`${caller}() expects a Request from ${binding}() or fetchRequest(), not a copy of one.`)
}

/** The client of a request, whose response may be known later. */
class Client {
  #controller: AbortController | undefined
  #response: ServerResponse | undefined

  get signal(): AbortSignal {
    const isNew = !this.#controller
    this.#controller ??= new AbortController()
    if (isNew) this.#watch()
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
      // Node also sets `writableFinished` when an HTTP/2 client resets the stream, and when the connection loses the last bytes.
      const wasSent = response.writableEnded && response.writableFinished && !response.req.socket.errored
      if (!wasSent) controller.abort()
    })
  }
}

/** Methods that the `Request` constructor rejects. */
const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

/** Where a `Request` gets its signal from when it is read. */
type SignalSource = Pick<Request, 'signal'>

type LiveRequest = new (source: RequestSource, url: string, client: SignalSource) => Request

let liveRequestClass: LiveRequest | undefined

/**
 * Creates a `Request` without a body, whose headers are those of the source when they are read. Copies of it keep the headers
 * they were made with.
 *
 * Its signal is created on demand, because few handlers use it, and passing one to the constructor takes longer than the rest
 * of it. A `clone()` has the same signal; a copy by `new Request(request)` has one that never aborts.
 */
export function liveRequest(source: RequestSource, url: string, client: SignalSource): Request {
  return new (liveRequestClass ??= createClass())(source, url, client)
}

/**
 * Creates the class at its first use, because Node loads its `Request` when it is mentioned. A class, because defining the same
 * properties on every request takes several times as long.
 */
function createClass(): LiveRequest {
  // Not the type of `Request`, because those of some runtimes declare as properties what the class has as accessors.
  const Base = Request as unknown as new (url: string, init: RequestInit) => object
  /** Returns what a `Request` would have without the properties of the class. */
  const own = (request: object, name: 'headers' | 'method'): unknown =>
    Reflect.get(Request.prototype, name, request)

  class Live extends Base {
    readonly #live: LiveHeaders
    readonly #method: string
    readonly #client: SignalSource

    constructor(source: RequestSource, url: string, client: SignalSource) {
      const method = source.method!
      const isForbidden = FORBIDDEN_METHODS.has(method)
      // The library has no path for OPTIONS either, so a copy of the Request gets the same response.
      super(url, { method: isForbidden ? 'OPTIONS' : method })
      this.#live = new LiveHeaders(own(this, 'headers') as Headers, source)
      this.#method = isForbidden ? method : (own(this, 'method') as string)
      this.#client = client
    }

    get headers(): Headers {
      return this.#live.current()
    }

    get method(): string {
      return this.#method
    }

    get signal(): AbortSignal {
      return this.#client.signal
    }

    get [LIVE_HEADERS](): LiveHeaders {
      return this.#live
    }

    get [CLIENT](): SignalSource {
      return this.#client
    }

    clone(): Request {
      // Updates the headers that the clone receives.
      this.#live.current()
      return cloneOf(this, this.#client)
    }
  }
  return Live as unknown as LiveRequest
}

function cloneOf(request: object, client: SignalSource): Request {
  const clone = Request.prototype.clone.call(request)
  return Object.defineProperties(clone, {
    signal: { get: () => client.signal },
    clone: { value: () => cloneOf(clone, client) },
  })
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

/**
 * Returns the absolute URL of a request. Concatenates the parts, because resolving a target such as `//elsewhere/path`
 * against a base would change the host. A host that is missing or invalid becomes `localhost`.
 */
export function requestURL({ protocol, host, target }: RequestLocation): string {
  const scheme = protocol === 'https' ? 'https' : 'http'
  const known = host !== undefined && isHost(host)
  return `${scheme}://${known ? host : 'localhost'}${originForm(target)}`
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
  const parts = path.split('/')
  const mount = parts.slice(0, segments + 1).join('/')
  return { mount, path: path.slice(mount.length) }
}
