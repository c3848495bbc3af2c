import type { Readable } from 'node:stream'
import { bodyStream } from '../node/body-stream.js'
import { whenOver } from '../node/response-over.js'
import { cancelBody, startBody, type AnyResponse, type StartedBody } from '../node/response-body.js'
import { hasHeader, setHeaders } from '../node/send-response.js'
import type { IncomingKoaContext } from './koa-context.js'

/**
 * Sets the response of a context, which Koa sends once all middleware is done. Keeps headers that were set before, unless
 * the response has them too. Does nothing if other middleware, such as a timeout, has already responded.
 *
 * @throws the error of the body if it fails before its first bytes.
 */
export async function setResponse(source: AnyResponse, ctx: IncomingKoaContext): Promise<void> {
  if (ctx.method === 'HEAD') {
    await cancelBody(source)
    if (!ctx.headerSent) setHead(source, ctx)
    return
  }
  const body = await startBody(source, (cancel) => whenOver(ctx.res, cancel))
  if (ctx.headerSent) return body.cancel()
  const hadType = ctx.res.hasHeader('content-type')
  setHead(source, ctx)
  ctx.body = bodyOf(body, ctx)
  // Koa guesses a type for a body without one.
  if (!hadType && !hasHeader(source, 'content-type')) ctx.res.removeHeader('content-type')
}

function setHead(source: AnyResponse, ctx: IncomingKoaContext): void {
  ctx.status = source.status
  setHeaders(source, ctx.res)
}

function bodyOf(body: StartedBody, ctx: IncomingKoaContext): string | Buffer | Readable {
  const { whole } = body
  if (whole === undefined) return bodyStream(body, ctx.res)
  return typeof whole === 'string' ? whole : Buffer.from(whole.buffer, whole.byteOffset, whole.length)
}
