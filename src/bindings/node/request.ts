import type { IncomingMessage, ServerResponse } from 'node:http'
import { LiveHeaders } from './live-headers.js'
import { socketOf, whenOver } from './response.js'
import { type RequestLocation, requestURL } from './url.js'

/** The properties that bindings add. Registered symbols, which the core and all builds share. */
const REQUEST = Symbol.for('@svc/db/request')

const LIVE_HEADERS = Symbol.for('@svc/db/live-headers')

const CLIENT = Symbol.for('@svc/db/client')

/** What a `Request` shows of a framework's request. */
export type RequestSource = Pick<IncomingMessage, 'headers' | 'method'>

type BoundRequest = Request & { readonly [LIVE_HEADERS]?: LiveHeaders; readonly [CLIENT]?: Client }

/** Returns the `Request` of a message. Kept on its raw headers, which copies of the message and proxies of it share. */
export function requestOf(
  message: RequestSource & Partial<Pick<IncomingMessage, 'rawHeaders'>>,
  response: ServerResponse | undefined,
  locate: () => RequestLocation,
  source: RequestSource = message,
): Request {
  const create = () => liveRequest(source, requestURL(locate()), new Client())
  const { rawHeaders } = message
  // Some mocks have no such array, others create one whenever it is read.
  const carrier = rawHeaders && rawHeaders === message.rawHeaders ? rawHeaders : message
  const request = requestOnce(carrier, source, create)
  if (response) request[CLIENT]?.respondWith(response)
  return request
}

/** Returns the `Request` of a carrier. It has the headers of the last source until the scope is resolved. */
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

/** Lets {@link ownerOf} find what a framework has in place of a `Request`. Middleware may wrap it, so a later owner replaces it. */
export function withOwner(request: Request, name: string, owner: object): Request {
  return Object.defineProperty(request, Symbol.for(name), { value: owner, configurable: true })
}

/** @throws TypeError unless `withOwner` was called with the same `Request`, not with a copy of it. */
export function ownerOf<Owner>(request: Request, name: string, caller: string, binding: string): Owner {
  const owner = Reflect.get(request, Symbol.for(name)) as Owner | undefined
  if (owner) return owner
  throw new TypeError(
    `${caller}() expects a Request from ${binding}() or fetchRequest(). This one is a copy, or it came through s3.handler.`,
  )
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
      const wasSent = response.writableEnded && response.writableFinished && !socketOf(response)?.errored
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
 * Creates a `Request` without a body, with the headers of its source when they are read. Its signal is created on demand, because few
 * handlers use it. A `clone()` has the same signal, and a copy by `new Request(request)` one that never aborts.
 */
export function liveRequest(source: RequestSource, url: string, client: SignalSource): Request {
  return new (liveRequestClass ??= createClass())(source, url, client)
}

/** Creates the class on first use, because Node then loads `Request`. To define the properties on each request is slower. */
function createClass(): LiveRequest {
  // The casts here and at the end, because the types of some runtimes declare as properties what the class has as accessors.
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
