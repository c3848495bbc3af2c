import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request as ExpressRequest } from 'express'
import { createRequest, requestOnce } from '../node/web-request.js'
import { originForm, type RequestLocation } from '../node/request-url.js'

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

/** A registered symbol, which the ESM and the CommonJS build share. */
const EXPRESS_REQUEST = Symbol.for('@svc/db/express-request')

/**
 * Returns the `Request` of an Express request, for guards in your own routes. Always returns the same object for a request.
 *
 * It has no body and doesn't touch the stream, so body parsers work before and after. Its `signal` aborts if the client
 * disconnects before the response is finished.
 */
export function fetchRequest(req: IncomingExpressRequest): Request {
  const request = requestOnce(req, () => createRequest(req, req.res, locationOf(req)))
  // Replaces an earlier one, because middleware may wrap `req` to add properties.
  return Object.defineProperty(request, EXPRESS_REQUEST, { value: req, configurable: true })
}

/**
 * Returns the Express request behind a `Request`, with everything that middleware has added to it, such as
 * `expressRequest(request).session` or `expressRequest(request).user`.
 *
 * @throws TypeError unless the `Request` comes from `expressBinding` or `fetchRequest`. Copies are not accepted.
 */
export function expressRequest(request: Request): ExpressRequest {
  const req = (request as { [EXPRESS_REQUEST]?: ExpressRequest })[EXPRESS_REQUEST]
  if (!req) {
    throw new TypeError(
      'expressRequest() expects a Request from expressBinding() or fetchRequest(), not a copy of one.',
    )
  }
  return req
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

function locationOf(req: IncomingExpressRequest): RequestLocation {
  return { protocol: req.protocol, host: hostOf(req), target: targetOf(req) }
}

/** Returns the host with its port, like `req.host` of Express 5. In Express 4, it lacks the port. */
function hostOf(req: IncomingExpressRequest): string | undefined {
  const isTrusted = req.app.get('trust proxy fn') as (address: string | undefined, hop: number) => boolean
  const forwarded = req.headers['x-forwarded-host']?.toString()
  return forwarded && isTrusted(req.socket.remoteAddress, 0)
    ? forwarded.split(',', 1)[0]!.trimEnd()
    : req.headers.host
}
