import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import type { MountedPath } from '../node/base-path.js'
import { originForm, pathOf, type RequestLocation } from '../node/request-url.js'
import { createRequest, requestOnce } from '../node/web-request.js'

/** The properties of a Koa 2 or 3 context that the binding uses. */
export interface IncomingKoaContext {
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
}

/** A registered symbol, which the ESM and the CommonJS build share. */
const KOA_CONTEXT = Symbol.for('@svc/db/koa-context')

/**
 * Returns the `Request` of a Koa context, for guards in your own routes. Always returns the same object for a request.
 *
 * It has no body and doesn't touch the stream, so body parsers work before and after. Its `signal` aborts if the client
 * disconnects before the response is finished.
 */
export function fetchRequest(ctx: IncomingKoaContext): Request {
  const request = requestOnce(ctx.req, () => createRequest(ctx.req, ctx.res, locationOf(ctx)))
  // Replaces an earlier one, because middleware may wrap `ctx` to add properties.
  return Object.defineProperty(request, KOA_CONTEXT, { value: ctx, configurable: true })
}

/**
 * Returns the Koa context behind a `Request`, with everything that middleware has added to it, such as
 * `koaContext(request).session` or `koaContext(request).state.user`.
 *
 * @throws TypeError unless the `Request` comes from `koaBinding` or `fetchRequest`. Copies are not accepted.
 */
export function koaContext(request: Request): Context {
  const ctx = (request as { [KOA_CONTEXT]?: Context })[KOA_CONTEXT]
  if (!ctx) {
    throw new TypeError(
      'koaContext() expects a Request from koaBinding() or fetchRequest(), not a copy of one.',
    )
  }
  return ctx
}

function locationOf(ctx: IncomingKoaContext): RequestLocation {
  const { whole, query } = mountedTarget(ctx)
  return { protocol: ctx.protocol, host: ctx.host, target: whole + query }
}

/** The target of a request as koa-mount has split it. */
export interface MountedTarget extends MountedPath {
  /** The whole path as the client requested it, or the rewritten one if the application has changed `ctx.url`. */
  readonly whole: string
  /** The rest from `?` or `#`, or `''`. */
  readonly query: string
}

/**
 * Splits the target of a request. Koa has no mount paths, and koa-mount exposes only the innermost one, so the mount path is
 * what precedes the remaining path in the requested one. If the requested path doesn't end with the remaining one, the
 * application has rewritten it.
 */
export function mountedTarget({
  originalUrl,
  url,
}: Pick<IncomingKoaContext, 'originalUrl' | 'url'>): MountedTarget {
  const requested = pathOf(originForm(originalUrl))
  const rest = originForm(url)
  const path = pathOf(rest)
  const query = rest.slice(path.length)
  if (requested.endsWith(path)) {
    return { mount: requested.slice(0, -path.length), path, whole: requested, query }
  }
  // If the path ends with the mount path, koa-mount sets `ctx.url` to a slash that the client hasn't sent.
  return path === '/'
    ? { mount: requested, path, whole: requested, query }
    : { mount: '', path, whole: path, query }
}
