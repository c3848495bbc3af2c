import { basePathInURL, belowBase } from '../node/base-path-match.js'
import { answer, asError, checkServed, type Served } from '../node/serve.js'
import { giveResponse } from './give-response.js'
import { fetchRequest, type IncomingKoaContext } from './koa-context.js'
import { mountedTarget } from './mounted-target.js'

/** A middleware of Koa 2 and 3. It is generic so that it leaves the context type of an application as it is. */
export type KoaMiddleware = <Context extends IncomingKoaContext>(
  ctx: Context,
  next: () => Promise<unknown>,
) => Promise<void>

/**
 * The library as a Koa middleware: `app.use(koaBinding(s3))`, `app.use(mount('/v1', …))` of koa-mount, or a route of
 * \@koa/router for everything below the base path; before or after body parsers. It answers everything below the base
 * path by `ctx.status`, headers and `ctx.body`, so that middleware around it can still look at the answer and add to it;
 * other requests go on to the next middleware.
 *
 * @throws TypeError for what has no `handler` and `basePath`.
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
      await giveResponse(await answer(handler, exchange), ctx)
    } catch (thrown) {
      throw asError(thrown)
    }
  }
}
