import type { ServerResponse } from 'node:http'
import { basePathInURL, belowBase } from '../node/base-path.js'
import { originForm, pathOf } from '../node/request-url.js'
import { asError, checkServed, serve, type Served } from '../node/serve.js'
import { fetchRequest, targetOf, type IncomingExpressRequest } from './express-request.js'

/** Middleware for Express 4 and 5. */
export type ExpressHandler = (
  req: IncomingExpressRequest,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void

/**
 * Creates Express middleware that serves the library: `app.use(expressBinding(s3))` or `app.use('/api/s3', …)`. It works in
 * routers and routes, before and after body parsers. It handles all requests below the base path, and passes others to the
 * next handler.
 *
 * @throws TypeError unless the argument is the result of `createS3Server` or `db`. Requests of Express before 4.3 fail with
 * a `TypeError` too.
 */
export function expressBinding(s3: Served): ExpressHandler {
  checkServed(s3, 'expressBinding')
  const { handler, basePath } = s3
  return (req, res, next) => {
    checkMounted(req)
    const rest = belowBase(basePath, { mount: req.baseUrl, path: pathOf(originForm(req.url)) })
    if (rest === null) return next()
    handle(req, res, rest).catch((error: unknown) => next(asError(error)))
  }

  async function handle(req: IncomingExpressRequest, res: ServerResponse, rest: string): Promise<void> {
    const request = fetchRequest(req)
    const inURL = basePathInURL(request, pathOf(targetOf(req)), rest)
    await serve(handler, { request, message: req, response: res, basePath: inURL, parsed: req.body })
  }
}

/** Express 4.3 added `baseUrl`. Other frameworks that accept middleware lack it as well. */
function checkMounted({ baseUrl }: { readonly baseUrl?: unknown }): void {
  if (typeof baseUrl === 'string') return
  throw new TypeError(
    `expressBinding needs Express 4.16 or later, where req.baseUrl is a string (got ${typeof baseUrl}).`,
  )
}
