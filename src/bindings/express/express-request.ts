import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request as ExpressRequest } from 'express'
import { createRequest, requestOnce } from '../node/web-request.js'
import type { RequestLocation } from '../node/request-url.js'
import { originForm } from '../node/request-target.js'

/** What the binding uses of a request of Express 4 or 5. */
export interface IncomingExpressRequest extends IncomingMessage {
  url: string
  readonly baseUrl: string
  readonly originalUrl: string
  readonly protocol: string
  readonly app: { get(setting: string): unknown }
  readonly body?: unknown
  readonly res?: ServerResponse | undefined
}

/** Registered, so that the ESM and the CommonJS build agree. */
const EXPRESS_REQUEST = Symbol.for('@svc/db/express-request')

/**
 * The `Request` of an Express request, for guards in routes of your own: always the same object for one request.
 *
 * It has no body, and making it touches nothing of the stream, so body parsers work before and after. Its `signal`
 * aborts when the client leaves before the response is finished.
 */
export function fetchRequest(req: IncomingExpressRequest): Request {
  const request = requestOnce(req, () => createRequest(req, req.res, locationOf(req)))
  // The latest one: whoever wraps `req` hands what it has added on to those who come later.
  return Object.defineProperty(request, EXPRESS_REQUEST, { value: req, configurable: true })
}

/**
 * The Express request behind a `Request`, with all that middleware has put there: `expressRequest(request).session`,
 * `expressRequest(request).user`.
 *
 * @throws TypeError for a `Request` that came neither through `expressBinding` nor from `fetchRequest`, and for a copy of one.
 */
export function expressRequest(request: Request): ExpressRequest {
  const req = (request as { [EXPRESS_REQUEST]?: ExpressRequest })[EXPRESS_REQUEST]
  if (!req) {
    throw new TypeError(
      'expressRequest: this Request came neither through expressBinding nor from fetchRequest.',
    )
  }
  return req
}

/**
 * The target that the client asked for; what an application has made of it where it has rewritten `req.url`. Cutting off
 * the start of the path is no rewriting: the client still knows it by the whole path.
 */
export function targetOf(req: IncomingExpressRequest): string {
  const asked = originForm(req.originalUrl)
  const left = originForm(req.url)
  // At the end of a mount path, Express adds the slash to what is left.
  const isAsked = asked.endsWith(left) || asked === req.baseUrl + left.slice(1)
  return isAsked ? asked : originForm(req.baseUrl + left)
}

function locationOf(req: IncomingExpressRequest): RequestLocation {
  return { protocol: req.protocol, host: hostOf(req), target: targetOf(req) }
}

/** As `req.host` of Express 5. That of Express 4 has no port. */
function hostOf(req: IncomingExpressRequest): string | undefined {
  const isTrusted = req.app.get('trust proxy fn') as (address: string | undefined, hop: number) => boolean
  const forwarded = req.headers['x-forwarded-host']?.toString()
  return forwarded && isTrusted(req.socket.remoteAddress, 0)
    ? forwarded.replace(/\s*,.*$/s, '')
    : req.headers.host
}
