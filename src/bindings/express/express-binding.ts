import type { ServerResponse } from 'node:http'
import { basePathInURL, belowBase } from '../node/base-path-match.js'
import { originForm, pathOf } from '../node/request-target.js'
import { asError, checkServed, serve, type Served } from '../node/serve.js'
import { fetchRequest, targetOf, type IncomingExpressRequest } from './express-request.js'

/** A middleware of Express 4 and 5. */
export type ExpressHandler = (
  req: IncomingExpressRequest,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void

/**
 * The library as an Express middleware: `app.use(expressBinding(s3))`, `app.use('/api/s3', …)`, in routers and routes,
 * before or after body parsers. It answers everything below the base path; other requests go on to the next handler.
 *
 * @throws TypeError for what has no `handler` and `basePath`.
 */
export function expressBinding(s3: Served): ExpressHandler {
  checkServed(s3, 'expressBinding')
  const { handler, basePath } = s3
  return (req, res, next) => {
    const rest = belowBase(basePath, { mount: req.baseUrl, path: pathOf(originForm(req.url)) })
    if (rest === null) return next()
    answer(req, res, rest).catch((error: unknown) => next(asError(error)))
  }

  async function answer(req: IncomingExpressRequest, res: ServerResponse, rest: string): Promise<void> {
    const request = fetchRequest(req)
    const inURL = basePathInURL(request, pathOf(targetOf(req)), rest)
    await serve(handler, { request, message: req, response: res, basePath: inURL, parsed: req.body })
  }
}
