import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request as ExpressRequest } from 'express'
import type { PlainResponse } from '../../core/http/response.js'
import { bodyStream, respond } from '../node/message.js'
import { basePathInURL, belowBase, originForm, pathOf, type RequestLocation } from '../node/url.js'
import { ownerOf, requestOf, withOwner } from '../node/request.js'
import { setHeaders, startBody, whenOver, type StartedBody } from '../node/response.js'
import { checkServed, type Served } from '../node/served.js'

export type { Served } from '../node/served.js'

/** The properties of an Express 4 or 5 request that the binding uses. */
export interface IncomingExpressRequest extends IncomingMessage {
  url: string
  readonly baseUrl: string
  readonly originalUrl: string
  readonly protocol: string
  readonly app: { get(setting: string): unknown }
  readonly body?: unknown
  readonly res?: ServerResponse | undefined
}

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
  const { handler, basePath } = checkServed(s3, 'expressBinding')
  return (req, res, next) => {
    checkMounted(req)
    const rest = belowBase(basePath, { mount: req.baseUrl, path: pathOf(originForm(req.url)) })
    if (rest === null) return next()
    serve(req, res, rest).catch(next)
  }

  async function serve(req: IncomingExpressRequest, res: ServerResponse, rest: string): Promise<void> {
    const request = fetchRequest(req)
    const inURL = basePathInURL(request, pathOf(targetOf(req)), rest)
    const exchange = { request, message: req, response: res, basePath: inURL, parsed: req.body }
    await sendResponse(await respond(handler, exchange), res)
  }
}

/** Express 4.3 added `baseUrl`. Other frameworks that accept middleware lack it as well. */
function checkMounted({ baseUrl }: { readonly baseUrl?: unknown }): void {
  if (typeof baseUrl === 'string') return
  throw new TypeError(
    `expressBinding needs Express 4.16 or later, where req.baseUrl is a string (got ${typeof baseUrl}).`,
  )
}

/**
 * Returns the `Request` of an Express request, for guards in your own routes. Always returns the same object for a request.
 *
 * It has no body and doesn't touch the stream, so body parsers work before and after. Its `signal` aborts if the client
 * disconnects before the response is finished.
 */
export function fetchRequest(req: IncomingExpressRequest): Request {
  const request = requestOf(req, req.res, () => ({
    protocol: req.protocol,
    ...hostOf(req),
    target: targetOf(req),
  }))
  return withOwner(request, '@svc/db/express-request', req)
}

/**
 * Returns the Express request behind a `Request`, with everything that middleware has added to it, such as
 * `expressRequest(request).session` or `expressRequest(request).user`.
 *
 * @throws TypeError unless the `Request` comes from `expressBinding` or `fetchRequest`. Copies are not accepted.
 */
export function expressRequest(request: Request): ExpressRequest {
  return ownerOf(request, '@svc/db/express-request', 'expressRequest', 'expressBinding')
}

/**
 * Returns the target that the client requested, or the rewritten one if the application has changed `req.url`. Removing the
 * start of the path, as routers do, doesn't count as rewriting.
 */
export function targetOf(req: IncomingExpressRequest): string {
  const requested = originForm(req.originalUrl)
  const rest = originForm(req.url)
  // If the path ends with the mount path, Express sets `req.url` to `/`.
  const isRequested = requested.endsWith(rest) || requested === req.baseUrl + rest.slice(1)
  return isRequested ? requested : originForm(req.baseUrl + rest)
}

/** Returns the host with its port, like `req.host` of Express 5. In Express 4, it lacks the port. */
function hostOf({ app, headers, socket }: IncomingExpressRequest): Pick<RequestLocation, 'host' | 'port'> {
  const isTrusted = app.get('trust proxy fn') as (address: string | undefined, hop: number) => boolean
  if (!isTrusted(socket.remoteAddress, 0)) return { host: headers.host }
  const forwarded = headers['x-forwarded-host']?.toString().split(',', 1)[0]!.trimEnd()
  return {
    host: forwarded === undefined || forwarded === '' ? headers.host : forwarded,
    port: headers['x-forwarded-port'],
  }
}

/**
 * Sends a response. Resolves once everything is written. Keeps headers that were set before, unless the response has them
 * too. Sends nothing if another handler, such as a timeout, has already responded.
 *
 * Ends the response even if the client has disconnected, because middleware, such as sessions, may wait for its end.
 *
 * @throws the error of the body. If it fails before its first bytes, nothing has been sent. If it fails later, the
 * connection is closed, which is the only way left to report the error to the client.
 */
async function sendResponse(source: PlainResponse, target: ServerResponse): Promise<void> {
  const body = await startBody(source, target.req.method, (cancel) => whenOver(target, cancel))
  if (target.headersSent) return body.cancel()
  target.statusCode = source.status
  setHeaders(source, target)
  const { whole } = body
  if (whole === undefined) return sendChunks(body, target)
  if (whole === null) return void target.end()
  // Node can't set the length if middleware, such as compression, replaces `end`.
  if (!target.hasHeader('content-length')) target.setHeader('content-length', Buffer.byteLength(whole))
  target.end(whole)
}

function sendChunks(body: StartedBody, target: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = bodyStream(body, target).on('error', reject)
    stream.once('close', () => {
      if (!stream.errored) target.end()
      resolve()
    })
    stream.pipe(target, { end: false })
  })
}
