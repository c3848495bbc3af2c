import { belowBase, pathInURL } from '../node/base-path.js'
import { asError, checkServed, plainHandlerOf, type Served } from '../node/serve.js'
import { bodyOf } from './body-of.js'
import { fetchRequest, type IncomingHonoContext } from './hono-context.js'
import { setResponse } from './set-response.js'

/** Middleware for Hono 4. Generic, to keep the application's own context type. */
export type HonoMiddleware = <C extends IncomingHonoContext>(
  c: C,
  next: () => Promise<void>,
) => Promise<Response | void>

/**
 * Creates Hono middleware that serves the library: `app.use(honoBinding(s3))`, also in an application that another one
 * includes by `app.route` or in a base path. It handles all requests below the library's base path, and passes others to
 * the next handler. It runs wherever Hono does.
 *
 * @throws TypeError unless the argument is the result of `createS3Server` or `db`.
 */
export function honoBinding(s3: Served): HonoMiddleware {
  checkServed(s3, 'honoBinding')
  const { basePath } = s3
  const handler = plainHandlerOf(s3.handler)
  return async (c, next) => {
    const path = pathInURL(c.req.raw.url)
    const rest = belowRoute(basePath, path, c.req.routePath)
    if (rest === null) return next()
    const base = path.slice(0, path.length - rest.length)
    const request = fetchRequest(c)
    try {
      const response = await handler(request, { basePath: base, body: await bodyOf(c) })
      return await setResponse(response, c)
    } catch (thrown) {
      throw asError(thrown)
    }
  }
}

/**
 * Returns the path below the base path, or `null`. In Hono, the pattern of a route is either a prefix that other
 * applications don't see, or a filter for the whole path, so the base path may start after any part of it.
 */
function belowRoute(basePath: string, path: string, routePath: string): string | null {
  const parts = path.split('/')
  const segments = routePath.split('/').filter((segment) => segment !== '' && segment !== '*').length
  for (let count = segments; count >= 0; count--) {
    const mount = parts.slice(0, count + 1).join('/')
    const rest = belowBase(basePath, {
      mount: count === segments ? mount : '',
      path: path.slice(mount.length),
    })
    if (rest !== null) return rest
  }
  return null
}
