import { isPlain, startBody, type AnyResponse, type StartedBody } from '../node/response-body.js'
import { whenOver } from '../node/response-over.js'
import { setHeaders } from '../node/send-response.js'
import type { IncomingHonoContext } from './hono-context.js'

/** What Hono's types allow for known statuses only, so it is missing in the type of the binding. */
interface SendingHonoContext extends IncomingHonoContext {
  body(text: string | null, status: number, headers: Readonly<Record<string, string>>): Response
}

/**
 * Sets the response of a context. Keeps headers that were set before, unless the response has them too. Middleware around the
 * binding can change the result.
 *
 * @throws the error of the body if it fails before its first bytes.
 */
export async function setResponse(source: AnyResponse, c: IncomingHonoContext): Promise<Response> {
  const response = isPlain(source)
    ? (c as SendingHonoContext).body(source.text, source.status, source.headers)
    : await copyOf(source, c)
  // Hono would otherwise let headers that were set before win.
  c.res = undefined
  c.res = response
  return response
}

/** Returns a copy with the headers that were set before. */
async function copyOf(source: Response, c: IncomingHonoContext): Promise<Response> {
  const { method, signal } = c.req.raw
  const outgoing = outgoingOf(c)
  // Hono removes the body without cancelling it.
  if (method === 'HEAD') await source.body?.cancel()
  // Workers find the length only of a body that is passed on as it is. The adapter for Node.js finds it in the headers, and Node 20
  // doesn't cancel the body of a response that waits behind another one when the connection closes.
  const isPassedOn = method === 'HEAD' || (!outgoing && source.headers.has('content-length'))
  const body = isPassedOn
    ? null
    : await startBody(source, (cancel) =>
        outgoing ? whenOver(outgoing, cancel) : onceAborted(signal, cancel),
      )
  const headers = new Headers(c.res.headers)
  setHeaders(source, {
    getHeader: (name) => (name === 'set-cookie' ? headers.getSetCookie() : (headers.get(name) ?? undefined)),
    setHeader(name, value) {
      headers.delete(name)
      for (const one of [value].flat()) headers.append(name, one)
    },
  })
  return new Response(method === 'HEAD' ? null : contentOf(body, source), { status: source.status, headers })
}

type Content = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null

type Outgoing = Parameters<typeof whenOver>[0]

/** Returns the response that Hono's adapter for Node.js writes to. */
function outgoingOf({ env }: IncomingHonoContext): Outgoing | undefined {
  return (env as { readonly outgoing?: Outgoing } | null | undefined)?.outgoing
}

function onceAborted(signal: AbortSignal, listener: () => void): void {
  if (signal.aborted) listener()
  else signal.addEventListener('abort', listener, { once: true })
}

/** Statuses of responses that can't have a body, not even an empty one. */
const BODILESS: ReadonlySet<number> = new Set([101, 204, 205, 304])

function contentOf(body: StartedBody | null, { status, body: stream }: Response): Content {
  if (!stream || BODILESS.has(status)) return null
  if (!body) return stream
  const { whole } = body
  if (whole !== undefined) return whole as string | Uint8Array<ArrayBuffer>
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = await body.read()
        if (chunk) controller.enqueue(chunk)
        else controller.close()
      },
      cancel: () => body.cancel(),
    },
    { highWaterMark: 0 },
  )
}
