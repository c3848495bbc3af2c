import type { Context } from 'hono'
import type { RequestBody, UnreadBody } from '../../core/http/request-body.js'
import { liveRequest, ownerOf, requestOnce, withOwner } from '../node/request.js'
import { discardBody, streamOf } from '../node/response.js'

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

/**
 * Returns the `Request` of a Hono context, for guards in your own routes. Always returns the same object for a request.
 *
 * It has no body and doesn't touch that of `c.req.raw`. Its `signal` is that of `c.req.raw`.
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

export function nodeOf({ env }: IncomingHonoContext): NodeEnvironment {
  return env ?? {}
}

/** Returns the body as an unread stream, or what earlier middleware has read of it. */
export function bodyOf(c: IncomingHonoContext): RequestBody | Promise<RequestBody> {
  return c.req.raw.bodyUsed ? parsedBody(c.req.bodyCache) : unreadBody(c)
}

function unreadBody(c: IncomingHonoContext): UnreadBody {
  const { raw } = c.req
  const { incoming, outgoing } = nodeOf(c)
  if (outgoing) discardBody(outgoing)
  let opened: ReadableStream<Uint8Array> | null | undefined
  // The adapter for Node.js closes the connection when a body is cancelled, so the client would get no response.
  const open = () => (opened ??= outgoing && raw.body ? withoutCancel(raw.body) : raw.body)
  const body = { kind: 'stream', open, isDiscarded: outgoing !== undefined } as const
  const length = lengthOf(raw.headers, incoming?.headers)
  if (length === null) return body
  const read = async (maxBytes: number): Promise<Uint8Array | null> => {
    if (length > maxBytes) return null
    const bytes = new Uint8Array(await raw.arrayBuffer())
    return bytes.length > maxBytes ? null : bytes
  }
  return { ...body, read }
}

/**
 * Returns the announced length, which servers enforce. Returns `null` if the body has to be counted while it is read: without a
 * length, and if middleware may have decoded the body, which makes it longer.
 */
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

function withoutCancel(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return streamOf(async () => (await reader.read()).value)
}
