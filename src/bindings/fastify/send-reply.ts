import type { ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import { bodyStream } from '../node/body-stream.js'
import { whenOver } from '../node/response-over.js'
import { cancelBody, hasBody, startBody, type AnyResponse } from '../node/response-body.js'
import { setHeaders, type HeaderTarget } from '../node/send-response.js'

/** The properties of a Fastify 4 or 5 reply that `sendReply` uses. */
export interface SentReply {
  readonly raw: ServerResponse | Http2ServerResponse
  readonly sent: boolean
  code(status: number): unknown
  getHeader(name: string): number | string | string[] | undefined
  header(name: string, value: string | readonly string[]): unknown
  removeHeader(name: string): unknown
  hijack(): unknown
  send(payload?: unknown): unknown
}

/**
 * Sends a response with `reply.send`, so that hooks of the application can change it. Keeps headers that were set before,
 * unless the response has them too. Sends nothing if another handler, such as a timeout, has already responded.
 *
 * @throws the error of the body if it fails before its first bytes.
 */
export async function sendReply(source: AnyResponse, reply: SentReply, method: string): Promise<unknown> {
  const raw = reply.raw as ServerResponse
  if (!hasBody(source) || method === 'HEAD') {
    await cancelBody(source)
    if (isTaken(reply)) return leave(reply)
    setHead(source, reply)
    return reply.send()
  }
  const body = await startBody(source, (cancel) => whenOver(raw, cancel))
  if (isTaken(reply)) {
    body.cancel()
    return leave(reply)
  }
  setHead(source, reply)
  const { whole } = body
  if (whole === undefined) return reply.send(bodyStream(body, raw))
  // As bytes, because Fastify adds a charset to the type of JSON text.
  return reply.send(
    typeof whole === 'string'
      ? Buffer.from(whole)
      : Buffer.from(whole.buffer, whole.byteOffset, whole.length),
  )
}

function isTaken({ sent, raw }: SentReply): boolean {
  return sent || raw.headersSent
}

/** Tells Fastify that the response is sent elsewhere. */
function leave(reply: SentReply): SentReply {
  if (!reply.sent) reply.hijack()
  return reply
}

function setHead(source: AnyResponse, reply: SentReply): void {
  const target: HeaderTarget = {
    getHeader: (name) => reply.getHeader(name),
    setHeader(name, value) {
      // Fastify would extend Set-Cookie instead of replacing it.
      reply.removeHeader(name)
      return reply.header(name, value)
    },
  }
  reply.code(source.status)
  setHeaders(source, target)
}
