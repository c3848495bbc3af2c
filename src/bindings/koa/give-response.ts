import type { Readable } from 'node:stream'
import { beginBody, type BegunBody } from '../node/response-body.js'
import { setHeaders } from '../node/response-headers.js'
import { bodyStream } from '../node/body-stream.js'
import type { IncomingKoaContext } from './koa-context.js'

/**
 * Makes a response the one of a context; Koa sends it when all middleware is done. Headers that were set before stay
 * unless the response has them too. Where somebody has answered in the meantime, as a timeout does, that answer stands.
 *
 * @throws what the body fails with before its first bytes.
 */
export async function giveResponse(source: Response, ctx: IncomingKoaContext): Promise<void> {
  if (ctx.method === 'HEAD') {
    await source.body?.cancel()
    if (!ctx.headerSent) setHead(source, ctx)
    return
  }
  const body = await beginBody(source, ctx.res)
  if (ctx.headerSent) return body.cancel()
  const hadType = ctx.res.hasHeader('content-type')
  setHead(source, ctx)
  ctx.body = bodyOf(body, ctx)
  // Koa makes up a type for a body without one.
  if (!hadType && !source.headers.has('content-type')) ctx.res.removeHeader('content-type')
}

function setHead(source: Response, ctx: IncomingKoaContext): void {
  ctx.status = source.status
  setHeaders(source, ctx.res)
}

function bodyOf(body: BegunBody, ctx: IncomingKoaContext): string | Buffer | Readable {
  const { whole } = body
  if (whole === undefined) return bodyStream(body, ctx.res)
  return typeof whole === 'string' ? whole : Buffer.from(whole.buffer, whole.byteOffset, whole.length)
}
