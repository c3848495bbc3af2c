import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { FastifyRequest } from 'fastify'
import { originForm } from '../node/url.js'
import { ownerOf, requestOf, withOwner } from '../node/request.js'

/** The properties of a Fastify 4 or 5 request that the binding uses. */
export interface IncomingFastifyRequest {
  readonly raw: IncomingMessage | Http2ServerRequest
  readonly headers: IncomingMessage['headers']
  readonly method: string
  /** Early versions of Fastify 4 don't have it. */
  readonly originalUrl?: string
  readonly protocol: string
  /** In Fastify 4, it contains the port, and there is no `host`. */
  readonly hostname: string
  readonly host?: string
  /** The addresses of the client and of trusted proxies. */
  readonly ips?: readonly string[]
}

/** The properties of a Fastify 4 or 5 reply that `fetchRequest` uses. */
export interface IncomingFastifyReply {
  readonly raw: ServerResponse | Http2ServerResponse
}

/**
 * Returns the `Request` of a Fastify request, for guards in your own routes. Always returns the same object for a request.
 *
 * It has no body and doesn't touch the stream, so body parsers work before and after. Pass the reply too if you use the
 * `signal`: it then aborts if the client disconnects before the response is finished. Fastify requests have no reference to
 * their reply.
 */
export function fetchRequest(request: IncomingFastifyRequest, reply?: IncomingFastifyReply): Request {
  const source = {
    method: request.method,
    // Hooks may have replaced the headers of the Fastify request, which leaves those of the message as they are.
    get headers() {
      return request.headers
    },
  }
  const locate = () => {
    const { protocol, host = request.hostname, headers, ips = [] } = request
    // Fastify doesn't say whether it trusts the proxy, but then it has the address that the proxy forwards.
    const port = ips.length > 1 ? headers['x-forwarded-port'] : undefined
    return { protocol, host, port, target: targetOf(request) }
  }
  const found = requestOf(request.raw, reply?.raw as ServerResponse | undefined, locate, source)
  return withOwner(found, '@svc/db/fastify-request', request)
}

/**
 * Returns the Fastify request behind a `Request`, with everything that plugins have added to it, such as
 * `fastifyRequest(request).session` or `fastifyRequest(request).user`.
 *
 * @throws TypeError unless the `Request` comes from `fastifyBinding` or `fetchRequest`. Copies are not accepted.
 */
export function fastifyRequest(request: Request): FastifyRequest {
  return ownerOf(request, '@svc/db/fastify-request', 'fastifyRequest', 'fastifyBinding')
}

/**
 * Returns the target that the client requested, or the rewritten one if `rewriteUrl` has changed it. Removing the start of
 * the path doesn't count as rewriting.
 */
export function targetOf({ raw, originalUrl }: IncomingFastifyRequest): string {
  const rest = originForm(raw.url ?? '')
  const requested = originalUrl === undefined ? rest : originForm(originalUrl)
  return requested.endsWith(rest) ? requested : rest
}
