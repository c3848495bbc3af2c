import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import type { PlainResponse } from '../../core/http/response.js'
import { bodyStream, bufferOf, parsedIn, respond } from '../node/message.js'
import { basePathInURL, belowBase, mountBefore, originForm, pathOf } from '../node/url.js'
import { ownerOf, requestOf, withOwner } from '../node/request.js'
import { headerOf, setHeaders, startBody, whenOver } from '../node/response.js'
import { checkServed, type Served } from '../node/served.js'

export type { Served } from '../node/served.js'

/** The properties of a Koa 2 or 3 context that the binding uses. */
export interface IncomingKoaContext {
  readonly app: { readonly proxy: boolean }
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Body parsers set its `body`. */
  readonly request: object
  readonly originalUrl: string
  readonly url: string
  readonly protocol: string
  readonly host: string
  readonly method: string
  readonly headerSent: boolean
  status: number
  body?: unknown
  respond?: boolean | undefined
}

/** Middleware for Koa 2 and 3. Generic, to keep the application's own context type. */
export type KoaMiddleware = <Context extends IncomingKoaContext>(
  ctx: Context,
  next: () => Promise<unknown>,
) => Promise<void>

/**
 * Creates Koa middleware that serves the library: `app.use(koaBinding(s3))`, `app.use(mount('/v1', …))` with koa-mount, or a
 * route of \@koa/router for everything below the base path. It works before and after body parsers. It handles all requests
 * below the base path by setting `ctx.status`, headers and `ctx.body`, which outer middleware can read and change, and
 * passes other requests to the next middleware.
 *
 * @throws TypeError unless the argument is the result of `createS3Server` or `db`.
 *
 * @example
 * import Koa from 'koa'
 * import { koaBinding } from '@svc/db/koa'
 *
 * new Koa().use(koaBinding(s3)).listen(3000)
 */
export function koaBinding(s3: Served): KoaMiddleware {
  const { handler, basePath } = checkServed(s3, 'koaBinding')
  return async function koaBinding(ctx, next) {
    const target = mountedTarget(ctx)
    const rest = belowBase(basePath, target)
    if (rest === null) return void (await next())
    const request = fetchRequest(ctx)
    const response = await respond(handler, {
      request,
      message: ctx.req,
      response: ctx.res,
      basePath: basePathInURL(request, target.whole, rest),
      parsed: parsedIn(ctx.request, ctx.req),
    })
    await setResponse(response, ctx)
  }
}

/** Sets the response, which Koa sends once all middleware is done, unless other middleware, such as a timeout, has responded. */
async function setResponse(source: PlainResponse, ctx: IncomingKoaContext): Promise<void> {
  const body = await startBody(source, ctx.method, (cancel) => whenOver(ctx.res, cancel))
  if (ctx.headerSent) return body.cancel()
  // Middleware in front may have set it to `false`, and Koa would send nothing.
  ctx.respond = true
  const hadType = ctx.res.hasHeader('content-type')
  ctx.status = source.status
  setHeaders(source, ctx.res)
  if (ctx.method === 'HEAD') return
  const { whole } = body
  if (whole === undefined) ctx.body = bodyStream(body, ctx.res)
  else ctx.body = typeof whole === 'string' ? whole : whole === null ? '' : bufferOf(whole)
  // Koa guesses a type for a body without one.
  if (!hadType && headerOf(source, 'content-type') === undefined) ctx.res.removeHeader('content-type')
}

/**
 * Returns the `Request` of a Koa context, for guards in your own routes. Always returns the same object for a request.
 *
 * It has no body and doesn't touch the stream, so body parsers work before and after. Its `signal` aborts if the client
 * disconnects before the response is finished.
 *
 * @example
 * import Koa from 'koa'
 * import { fetchRequest } from '@svc/db/koa'
 *
 * new Koa().use(async (ctx) => {
 *   await guard({ request: fetchRequest(ctx), bucket, key })
 *   ctx.body = '…'
 * })
 */
export function fetchRequest(ctx: IncomingKoaContext): Request {
  const request = requestOf(ctx.req, ctx.res, () => {
    const { whole, query } = mountedTarget(ctx)
    const port = ctx.app.proxy ? ctx.req.headers['x-forwarded-port'] : undefined
    return { protocol: ctx.protocol, host: ctx.host, port, target: whole + query }
  })
  return withOwner(request, '@svc/db/koa-context', ctx)
}

/**
 * Returns the Koa context behind a `Request`, with everything that middleware has added to it, such as
 * `koaContext(request).session` or `koaContext(request).state.user`.
 *
 * @throws TypeError unless the `Request` comes from `koaBinding` or `fetchRequest`. Copies are not accepted.
 *
 * @example
 * import { koaContext } from '@svc/db/koa'
 *
 * const resolveScope = (request: Request) => koaContext(request).get('x-user') || null
 */
export function koaContext(request: Request): Context {
  return ownerOf(request, '@svc/db/koa-context', 'koaContext', 'koaBinding')
}

/** Splits a target. koa-mount shows only the innermost mount path, so the mount is what precedes the remaining path. */
function mountedTarget({ originalUrl, url }: Pick<IncomingKoaContext, 'originalUrl' | 'url'>) {
  const requested = pathOf(originForm(originalUrl))
  const rest = originForm(url)
  const path = pathOf(rest)
  const query = rest.slice(path.length)
  const mount = mountBefore(requested, path)
  return { mount, path, whole: mount === '' ? path : requested, query }
}
