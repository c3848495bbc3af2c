import { basePathInURL, belowBase } from '../node/base-path.js'
import { asError, checkServed, respond, type Served } from '../node/serve.js'
import { fetchRequest, mountedTarget, type IncomingKoaContext } from './koa-context.js'
import { setResponse } from './set-response.js'

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
 */
export function koaBinding(s3: Served): KoaMiddleware {
  checkServed(s3, 'koaBinding')
  const { handler, basePath } = s3
  return async (ctx, next) => {
    const target = mountedTarget(ctx)
    const rest = belowBase(basePath, target)
    if (rest === null) return void (await next())
    const request = fetchRequest(ctx)
    const exchange = {
      request,
      message: ctx.req,
      response: ctx.res,
      basePath: basePathInURL(request, target.whole, rest),
      parsed: (ctx.request as { readonly body?: unknown }).body,
    }
    try {
      await setResponse(await respond(handler, exchange), ctx)
    } catch (thrown) {
      throw asError(thrown)
    }
  }
}
