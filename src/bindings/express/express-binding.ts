import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request as ExpressRequest } from 'express'
import type { PlainResponse } from '../../core/http/response.js'
import { bodyStream, parsedIn, respond } from '../node/message.js'
import {
  basePathInURL,
  belowBase,
  mountBefore,
  type MountedPath,
  originForm,
  pathOf,
  type RequestLocation,
  segmentsOf,
  splitAfter,
} from '../node/url.js'
import { ownerOf, requestOf, withOwner } from '../node/request.js'
import { setHeaders, startBody, whenOver, type StartedBody } from '../node/response.js'
import { checkServed, type Served } from '../node/served.js'

export type { Served } from '../node/served.js'

/**
 * The properties of an Express 4 or 5 request that the binding uses. Other servers with middleware of this form, such as Connect,
 * have some of them, and Node.js has none.
 */
export interface IncomingExpressRequest extends IncomingMessage {
  readonly baseUrl?: string
  readonly originalUrl?: string | undefined
  readonly protocol?: string
  readonly app?: { get?(setting: string): unknown } | undefined
  readonly params?: object
  readonly res?: ServerResponse | undefined
}

/** Middleware for Express 4 and 5, and for other servers that pass Node's request and response. */
export type ExpressHandler = (
  req: IncomingExpressRequest,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void

/**
 * Creates Express middleware that serves the library: `app.use(expressBinding(s3))` or `app.use('/api/s3', …)`. It works in
 * routers and routes, before and after body parsers. It handles all requests below the base path, and passes others to the
 * next handler. Connect, polka, Vite and a plain server of Node.js can run it, too.
 *
 * @throws TypeError unless the argument is the result of `createS3Server` or `db`. The first request fails with a `TypeError` in a
 * framework that has another binding, and under a pattern that hides the mount path.
 *
 * @example
 * import express from 'express'
 * import { expressBinding } from '@svc/db/express'
 *
 * express().use(expressBinding(s3)).listen(3000)
 */
export function expressBinding(s3: Served): ExpressHandler {
  const { handler, basePath } = checkServed(s3, 'expressBinding')
  return function expressBinding(req, res, next) {
    checkCall(req, res, next)
    const rest = restOf(req, basePath)
    if (rest === null) return next(hiddenMount(req, basePath))
    serve(req, res, rest).catch(next)
  }

  async function serve(req: IncomingExpressRequest, res: ServerResponse, rest: string): Promise<void> {
    const request = fetchRequest(req)
    const inURL = basePathInURL(request, pathOf(targetOf(req)), rest)
    const exchange = { request, message: req, response: res, basePath: inURL, parsed: parsedIn(req) }
    await sendResponse(await respond(handler, exchange), res, req.method)
  }
}

/** Koa, Fastify and Hono call middleware with objects of their own. */
function checkCall(req: Partial<IncomingExpressRequest>, res: Partial<ServerResponse>, next: unknown): void {
  if (typeof req.url === 'string' && res.setHeader && typeof next === 'function') return
  throw new TypeError(
    'expressBinding needs to be called with (req, res, next): in Koa, Fastify and Hono, mount koaBinding, fastifyBinding and honoBinding.',
  )
}

/** Returns the path below the base path, or `null`. Express takes all that `/api/s3/*rest` matches for the mount path. */
function restOf(req: IncomingExpressRequest, basePath: string): string | null {
  const split = mountedPath(req)
  const rest = belowBase(basePath, split)
  if (rest !== null || split.path !== '/' || req.baseUrl === undefined) return rest
  const { mount } = split
  const segments = segmentsOf(mount).length
  for (const matched of [segments, ...wildcardsOf(req)]) {
    const below = belowBase(basePath, splitAfter(mount, segments - matched))
    if (below !== null) return below
  }
  return null
}

/** Returns how many segments each wildcard has matched. Express 4 names wildcards by numbers, and Express 5 has lists for them. */
function wildcardsOf({ params = {} }: IncomingExpressRequest): readonly number[] {
  return Object.entries(params)
    .filter(([name, value]) => Array.isArray(value) || /^\d+$/.test(name))
    .map(([, value]) => segmentsOf([value].flat().join('/')).length)
}

/** Returns an error if the request is probably for the library, but its mount path is unknown. */
function hiddenMount(req: IncomingExpressRequest, basePath: string): TypeError | undefined {
  const { mount, path } = mountedPath(req)
  const isHidden = path === '/' && `${mount}/`.includes(`${basePath}/`) && wildcardsOf(req).length === 0
  if (!isHidden) return undefined
  return new TypeError(
    `expressBinding can't find its mount path in ${mount}, because the pattern in front of it matches all of it. ` +
      'In Express, use a path or a wildcard. In Fastify, register fastifyBinding.',
  )
}

function mountedPath(req: IncomingExpressRequest): MountedPath {
  return { mount: baseUrlOf(req), path: pathOf(originForm(req.url!)) }
}

/** Returns what routers have removed from the start of the path. Only Express has it as a property. */
function baseUrlOf({ baseUrl, originalUrl, url }: IncomingExpressRequest): string {
  return baseUrl ?? mountBefore(pathOf(originForm(originalUrl ?? url!)), pathOf(originForm(url!)))
}

/**
 * Returns the `Request` of an Express request, for guards in your own routes. Always returns the same object for a request.
 *
 * It has no body and doesn't touch the stream, so body parsers work before and after. Its `signal` aborts if the client
 * disconnects before the response is finished.
 *
 * @example
 * import express from 'express'
 * import { fetchRequest } from '@svc/db/express'
 *
 * express().get('/avatar', (req, res, next) => {
 *   guard({ request: fetchRequest(req), bucket, key }).then(() => res.send('…'), next)
 * })
 */
export function fetchRequest(req: IncomingExpressRequest): Request {
  const request = requestOf(req, req.res, () => ({
    protocol: req.protocol ?? (Reflect.get(req.socket, 'encrypted') ? 'https' : 'http'),
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
 *
 * @example
 * import { expressRequest } from '@svc/db/express'
 *
 * const resolveScope = (request: Request) => expressRequest(request).get('x-user') ?? null
 */
export function expressRequest(request: Request): ExpressRequest {
  return ownerOf(request, '@svc/db/express-request', 'expressRequest', 'expressBinding')
}

/** Returns the requested target, or the rewritten one. Removing the start of the path, as routers do, isn't rewriting. */
function targetOf(req: IncomingExpressRequest): string {
  const requested = originForm(req.originalUrl ?? req.url!)
  const rest = originForm(req.url!)
  const baseUrl = baseUrlOf(req)
  // If the path ends with the mount path, Express sets `req.url` to `/`.
  const isRequested = requested.endsWith(rest) || requested === baseUrl + rest.slice(1)
  return isRequested ? requested : originForm(baseUrl + rest)
}

/** Returns the host with its port, like `req.host` of Express 5. In Express 4, it lacks the port. */
function hostOf({ app, headers, socket }: IncomingExpressRequest): Pick<RequestLocation, 'host' | 'port'> {
  const isTrusted = app?.get?.('trust proxy fn') as
    ((address: string | undefined, hop: number) => boolean) | undefined
  if (!isTrusted?.(socket.remoteAddress, 0)) return { host: headers.host }
  const forwarded = headers['x-forwarded-host']?.toString()
  const host = forwarded ? forwarded.split(',', 1)[0]!.trimEnd() : headers.host
  return { host, port: headers['x-forwarded-port'] }
}

/** Sends a response, unless another handler has. Ends it even if the client is gone, because middleware may wait for its end. */
async function sendResponse(source: PlainResponse, target: ServerResponse, method?: string): Promise<void> {
  const body = await startBody(source, method, (cancel) => whenOver(target, cancel))
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
