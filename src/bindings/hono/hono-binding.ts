import type { Context } from 'hono'
import type { RequestBody, UnreadBody } from '../../core/http/request-body.js'
import type { PlainResponse } from '../../core/http/response.js'
import { liveRequest, ownerOf, requestOnce, withOwner } from '../node/request.js'
import {
  discardBody,
  failWithReason,
  headerOf,
  LISTS,
  startBody,
  streamOf,
  whenOver,
} from '../node/response.js'
import { checkServed, type Served } from '../node/served.js'
import { belowBase, pathInURL, segmentsOf, splitAfter } from '../node/url.js'

export type { Served } from '../node/served.js'

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
interface BodyCache {
  readonly arrayBuffer?: ArrayBuffer | Promise<ArrayBuffer>
  readonly blob?: Blob | Promise<Blob>
  readonly text?: string | Promise<string>
  readonly json?: unknown
}

/** Middleware for Hono 4. Generic, to keep the application's own context type. */
export type HonoMiddleware = <C extends IncomingHonoContext>(
  c: C,
  next: () => Promise<void>,
) => Promise<Response | void>

/**
 * Creates Hono middleware that serves the library: `app.use(honoBinding(s3))`, also in an application that another one
 * includes by `app.route` or in a base path. It handles all requests below the library's base path, and passes others to
 * the next handler. It runs wherever Hono does.
 *
 * @throws TypeError unless the argument is the result of `createS3Server` or `db`.
 *
 * @example
 * import { Hono } from 'hono'
 * import { honoBinding } from '@svc/db/hono'
 *
 * const app = new Hono().use(honoBinding(s3))
 */
export function honoBinding(s3: Served): HonoMiddleware {
  const { handler, basePath } = checkServed(s3, 'honoBinding')
  return async function honoBinding(c, next) {
    const path = pathInURL(c.req.raw.url)
    const rest = belowRoute(basePath, path, c.req.routePath)
    if (rest === null) return next()
    const base = path.slice(0, path.length - rest.length)
    const request = fetchRequest(c)
    return setResponse(
      await handler(request, { basePath: base, body: await bodyOf(c), trailingSlash: false }),
      c,
    )
  }
}

/** Returns the path below the base path, or `null`. A pattern of Hono is a hidden prefix, or matches the whole path. */
function belowRoute(basePath: string, path: string, routePath: string): string | null {
  const segments = segmentsOf(routePath).filter((segment) => segment !== '*').length
  for (let count = segments; count >= 0; count--) {
    const split = splitAfter(path, count)
    const rest = belowBase(basePath, count === segments ? split : { ...split, mount: '' })
    if (rest !== null) return rest
  }
  return null
}

/** What Hono's types allow for known statuses only, so it is missing in the type of the binding. */
interface SendingHonoContext extends IncomingHonoContext {
  body(text: string, status: number, headers: Readonly<Record<string, string>>): Response
}

/** Sets the response of a context, which middleware around the binding can change. */
async function setResponse(source: PlainResponse, c: IncomingHonoContext): Promise<Response> {
  const { status, headers, body } = source
  const response =
    // The library's JSON has no headers that would have to extend those that were set before.
    typeof body === 'string'
      ? (c as SendingHonoContext).body(body, status, Object.fromEntries(headers))
      : new Response(await contentOf(source, c), { status, headers: extendedHeaders(source, c.res) })
  // Hono would otherwise let headers that were set before win.
  c.res = undefined
  c.res = response
  return response
}

function extendedHeaders(source: PlainResponse, before: Response): Headers {
  const headers = new Headers(before.headers)
  for (const [name, value] of source.headers) {
    if (LISTS.has(name)) headers.append(name, value)
    else headers.set(name, value)
  }
  return headers
}

/** What a `Response` is made of. `BodyInit` is a type of browsers. */
type ResponseBody = Exclude<ConstructorParameters<typeof Response>[0], undefined>

async function contentOf(source: PlainResponse, c: IncomingHonoContext): Promise<ResponseBody> {
  const { method, signal } = c.req.raw
  const { outgoing } = nodeOf(c)
  // Workers find the length only of a body that is passed on as it is. The adapter for Node.js finds it in the headers, and Node 20
  // doesn't cancel the body of a response that waits behind another one when the connection closes.
  if (!outgoing && method !== 'HEAD' && headerOf(source, 'content-length') !== undefined) return source.body

  const body = await startBody(source, method, (cancel) => {
    if (outgoing) whenOver(outgoing, cancel)
    else if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
  })
  if (body.whole !== undefined) return body.whole as ResponseBody
  return streamOf(
    () => body.read(),
    () => body.cancel(),
  )
}

/**
 * Returns the `Request` of a Hono context, for guards in your own routes. Always returns the same object for a request.
 *
 * It has no body and doesn't touch that of `c.req.raw`. Its `signal` is that of `c.req.raw`.
 *
 * @example
 * import { Hono } from 'hono'
 * import { fetchRequest } from '@svc/db/hono'
 *
 * new Hono().get('/avatar', async (c) => {
 *   await guard({ request: fetchRequest(c), bucket, key })
 *   return c.text('…')
 * })
 */
export function fetchRequest(c: IncomingHonoContext): Request {
  const { req } = c
  const source = {
    method: req.raw.method,
    get headers() {
      return Object.fromEntries(req.raw.headers)
    },
    get signal() {
      return req.raw.signal
    },
  }
  const request = requestOnce(req, source, () => liveRequest(source, req.raw.url, source))
  return withOwner(request, '@svc/db/hono-context', c)
}

/**
 * Returns the Hono context behind a `Request`, with everything that middleware has added to it, such as
 * `honoContext(request).get('user')`.
 *
 * @throws TypeError unless the `Request` comes from `honoBinding` or `fetchRequest`. Copies are not accepted.
 *
 * @example
 * import { honoContext } from '@svc/db/hono'
 *
 * const resolveScope = (request: Request) => honoContext(request).req.header('x-user') ?? null
 */
export function honoContext(request: Request): Context {
  return ownerOf(request, '@svc/db/hono-context', 'honoContext', 'honoBinding')
}

/** What Hono's adapter for Node.js provides. */
interface NodeEnvironment {
  readonly incoming?: { readonly headers: Readonly<Record<string, unknown>> }
  /** The response that the adapter writes to. */
  readonly outgoing?: Parameters<typeof discardBody>[0]
}

function nodeOf({ env }: IncomingHonoContext): NodeEnvironment {
  return env ?? {}
}

/** Returns the body as an unread stream, or what earlier middleware has read of it. */
function bodyOf(c: IncomingHonoContext): RequestBody | Promise<RequestBody> {
  return c.req.raw.bodyUsed ? parsedBody(c.req.bodyCache) : unreadBody(c)
}

function unreadBody(c: IncomingHonoContext): UnreadBody {
  const { raw } = c.req
  const { incoming, outgoing } = nodeOf(c)
  if (outgoing) discardBody(outgoing)
  const fail = outgoing && failWithReason(outgoing)
  let opened: ReadableStream<Uint8Array> | null | undefined
  // The adapter for Node.js closes the connection when a body is cancelled, so the client would get no response.
  const open = () => (opened ??= fail && raw.body ? withoutCancel(raw.body, fail) : raw.body)
  const body = { kind: 'stream', open, isDiscarded: outgoing !== undefined } as const
  const length = lengthOf(raw.headers, incoming?.headers)
  if (length === null) return body
  const read = async (maxBytes: number): Promise<Uint8Array | null> => {
    if (length > maxBytes) return null
    const bytes = new Uint8Array(await raw.arrayBuffer().catch(fail))
    return bytes.length > maxBytes ? null : bytes
  }
  return { ...body, read }
}

/** Returns the announced length, which servers enforce, or `null` without one and if middleware may have decoded the body. */
function lengthOf(headers: Headers, ofMessage: Readonly<Record<string, unknown>> = {}): number | null {
  const length = headers.get('content-length')
  const isEncoded = ['transfer-encoding', 'content-encoding'].some(
    (name) => headers.has(name) || ofMessage[name] !== undefined,
  )
  return length !== null && /^\d+$/.test(length) && !isEncoded ? Number(length) : null
}

async function parsedBody({ arrayBuffer, blob, text, json }: BodyCache): Promise<RequestBody> {
  const bytes = await (arrayBuffer ?? (await blob)?.arrayBuffer())
  const value = bytes ? new Uint8Array(bytes) : await (text ?? json)
  const isEmpty = value === '' || bytes?.byteLength === 0
  // Nothing was read, so this is like a body that no parser has touched.
  return isEmpty ? { kind: 'stream', open: () => null } : { kind: 'parsed', value }
}

function withoutCancel(
  body: ReadableStream<Uint8Array>,
  fail: ReturnType<typeof failWithReason>,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return streamOf(async () => (await reader.read().catch(fail)).value)
}
