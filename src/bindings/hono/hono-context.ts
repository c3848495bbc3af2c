import type { Context } from 'hono'
import { liveRequest, requestOnce } from '../node/web-request.js'

/** The properties of a Hono 4 context that the binding uses. */
export interface IncomingHonoContext {
  readonly req: {
    /** Middleware may replace it. */
    readonly raw: Request
    /** The pattern of the current route. */
    readonly routePath: string
    /** What was read from the body, by the method that has read it. */
    readonly bodyCache: BodyCache
  }
  /** What the runtime's adapter provides. */
  readonly env: unknown
  get res(): Response
  set res(response: Response | undefined)
}

/** The bodies that Hono's own methods have read. */
export interface BodyCache {
  readonly arrayBuffer?: ArrayBuffer | Promise<ArrayBuffer>
  readonly blob?: Blob | Promise<Blob>
  readonly text?: string | Promise<string>
  readonly json?: unknown
}

/** Registered symbols, which the ESM and the CommonJS build share. */
const HONO_CONTEXT = Symbol.for('@svc/db/hono-context')
const RAW_HEADERS = Symbol.for('@svc/db/hono-raw-headers')

/**
 * Returns the `Request` of a Hono context, for guards in your own routes. Always returns the same object for a request.
 *
 * It has no body and doesn't touch that of `c.req.raw`. Its `signal` is that of `c.req.raw`.
 */
export function fetchRequest(c: IncomingHonoContext): Request {
  const { req } = c
  const source = {
    rawHeaders: keyOf(req),
    method: req.raw.method,
    get headers() {
      return Object.fromEntries(req.raw.headers)
    },
  }
  const request = requestOnce(source, () => liveRequest(source, req.raw.url, () => req.raw.signal))
  return Object.defineProperty(request, HONO_CONTEXT, { value: c, configurable: true })
}

/**
 * Returns the Hono context behind a `Request`, with everything that middleware has added to it, such as
 * `honoContext(request).get('user')`.
 *
 * @throws TypeError unless the `Request` comes from `honoBinding` or `fetchRequest`. Copies are not accepted.
 */
export function honoContext(request: Request): Context {
  const c = (request as { [HONO_CONTEXT]?: Context })[HONO_CONTEXT]
  if (!c) {
    throw new TypeError(
      'honoContext() expects a Request from honoBinding() or fetchRequest(), not a copy of one.',
    )
  }
  return c
}

/** Returns the array that identifies a request, in place of the raw headers of a Node.js message. */
function keyOf(req: object): string[] {
  const carrier = req as { [RAW_HEADERS]?: string[] }
  const known = carrier[RAW_HEADERS]
  if (known) return known
  const key: string[] = []
  Object.defineProperty(carrier, RAW_HEADERS, { value: key })
  return key
}
