import type { RequestBody } from '../../core/http/request-body.js'
import type { BodyCache, IncomingHonoContext } from './hono-context.js'

/** Returns the body as an unread stream, or what earlier middleware has read of it. */
export async function bodyOf({ req, env }: IncomingHonoContext): Promise<RequestBody> {
  const { raw, bodyCache } = req
  if (!raw.bodyUsed) {
    let opened: ReadableStream<Uint8Array> | null | undefined
    return { kind: 'stream', open: () => (opened ??= streamOf(raw, env)) }
  }
  const value = await readCached(bodyCache)
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
  const isNode = typeof env === 'object' && env !== null && 'incoming' in env
  return body && isNode ? readToItsEnd(body) : body
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
