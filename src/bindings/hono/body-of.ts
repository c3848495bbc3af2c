import type { RequestBody, UnreadBody } from '../../core/http/request-body.js'
import type { BodyCache, IncomingHonoContext } from './hono-context.js'

/** Returns the body as an unread stream, or what earlier middleware has read of it. */
export function bodyOf(c: IncomingHonoContext): RequestBody | Promise<RequestBody> {
  return c.req.raw.bodyUsed ? parsedBody(c.req.bodyCache) : unreadBody(c.req.raw, c.env)
}

function unreadBody(raw: Request, env: unknown): UnreadBody {
  let opened: ReadableStream<Uint8Array> | null | undefined
  const open = () => (opened ??= streamOf(raw, env))
  const length = lengthOf(raw, env)
  if (length === null) return { kind: 'stream', open }
  const read = async (maxBytes: number): Promise<Uint8Array | null> => {
    if (length > maxBytes) {
      await open()?.cancel()
      return null
    }
    const bytes = new Uint8Array(await raw.arrayBuffer())
    return bytes.length > maxBytes ? null : bytes
  }
  return { kind: 'stream', open, read }
}

/**
 * Returns the announced length, which servers enforce. Returns `null` if the body has to be counted while it is read: without a
 * length, and if middleware may have decoded the body, which makes it longer.
 */
function lengthOf({ headers }: Request, env: unknown): number | null {
  const length = headers.get('content-length')
  const isEncoded = ['transfer-encoding', 'content-encoding'].some(
    (name) => headers.has(name) || incomingOf(env)?.headers[name] !== undefined,
  )
  return length !== null && /^\d+$/.test(length) && !isEncoded ? Number(length) : null
}

/** A message of Node.js. */
interface Incoming {
  readonly headers: Readonly<Record<string, unknown>>
}

/** Returns the message behind the request, if Hono's adapter for Node.js has created the request. */
function incomingOf(env: unknown): Incoming | undefined {
  return (env as { readonly incoming?: Incoming } | null | undefined)?.incoming
}

async function parsedBody(cache: BodyCache): Promise<RequestBody> {
  const value = await readCached(cache)
  // Nothing was read, so this is like a body that no parser has touched.
  if (isEmpty(value)) return { kind: 'stream', open: () => null }
  return { kind: 'parsed', value }
}

async function readCached({ arrayBuffer, blob, text, json }: BodyCache): Promise<unknown> {
  if (arrayBuffer !== undefined) return new Uint8Array(await arrayBuffer)
  if (blob !== undefined) return new Uint8Array(await (await blob).arrayBuffer())
  return text === undefined ? json : text
}

function isEmpty(value: unknown): boolean {
  return value === '' || (value instanceof Uint8Array && value.length === 0)
}

function streamOf({ body }: Request, env: unknown): ReadableStream<Uint8Array> | null {
  // The adapter for Node.js closes the connection when a body is cancelled, so the client would get no response.
  return body && incomingOf(env) ? readToItsEnd(body) : body
}

/** Returns the stream without its `cancel`: the rest is read and discarded instead. */
function readToItsEnd(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  async function discardRest(): Promise<void> {
    while (!(await reader.read()).done);
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => void discardRest().catch(() => undefined),
    },
    { highWaterMark: 0 },
  )
}
