import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import type { RequestLocation } from '../node/request-url.js'
import { createRequest, requestOnce } from '../node/web-request.js'
import { mountedTarget } from './mounted-target.js'

/** What the binding uses of a context of Koa 2 or 3. */
export interface IncomingKoaContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Its `body` is what a body parser has left. */
  readonly request: object
  readonly originalUrl: string
  readonly url: string
  readonly protocol: string
  readonly host: string
  readonly method: string
  readonly headerSent: boolean
  status: number
  body?: unknown
}

/** Registered, so that the ESM and the CommonJS build agree. */
const KOA_CONTEXT = Symbol.for('@svc/db/koa-context')

/**
 * The `Request` of a Koa context, for guards in routes of your own: always the same object for one request.
 *
 * It has no body, and making it touches nothing of the stream, so body parsers work before and after. Its `signal`
 * aborts when the client leaves before the response is finished.
 */
export function fetchRequest(ctx: IncomingKoaContext): Request {
  const request = requestOnce(ctx.req, () => createRequest(ctx.req, ctx.res, locationOf(ctx)))
  // The latest one: whoever wraps `ctx` hands what it has added on to those who come later.
  return Object.defineProperty(request, KOA_CONTEXT, { value: ctx, configurable: true })
}

/**
 * The Koa context behind a `Request`, with all that middleware has put there: `koaContext(request).session`,
 * `koaContext(request).state.user`.
 *
 * @throws TypeError for a `Request` that came neither through `koaBinding` nor from `fetchRequest`, and for a copy of one.
 */
export function koaContext(request: Request): Context {
  const ctx = (request as { [KOA_CONTEXT]?: Context })[KOA_CONTEXT]
  if (!ctx) {
    throw new TypeError('koaContext: this Request came neither through koaBinding nor from fetchRequest.')
  }
  return ctx
}

function locationOf(ctx: IncomingKoaContext): RequestLocation {
  const { whole, query } = mountedTarget(ctx)
  return { protocol: ctx.protocol, host: ctx.host, target: whole + query }
}
