import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { PlainResponse } from '../../core/http/response.js'
import { bodyStream, bufferOf, parsedIn, respond } from '../node/message.js'
import { ownerOf, requestOf, withOwner } from '../node/request.js'
import { setHeaders, startBody, whenOver } from '../node/response.js'
import { checkServed, type Served } from '../node/served.js'
import { basePathInURL, belowBase, originForm, pathOf, segmentsOf, splitAfter } from '../node/url.js'

export type { Served } from '../node/served.js'

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

/** The properties of a Fastify 4 or 5 reply that the binding uses. */
interface RoutedReply extends IncomingFastifyReply {
  readonly sent: boolean
  code(status: number): unknown
  getHeader(name: string): number | string | string[] | undefined
  header(name: string, value: string | readonly string[]): unknown
  removeHeader(name: string): unknown
  hijack(): unknown
  send(payload?: unknown): unknown
  callNotFound(): unknown
}

/**
 * The properties of a Fastify 4 or 5 instance that the plugin uses. What Fastify passes to callbacks depends on its version,
 * its server and the application's own types.
 */
export interface FastifyInstanceForBinding {
  readonly prefix: string
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    contentType: string,
    parser: (request: never, payload: never, done: never) => unknown,
  ): unknown
  all(path: string, options: object, handler: (request: never, reply: never) => unknown): unknown
}

/** A plugin for Fastify 4 and 5. */
export type FastifyPlugin = (
  instance: FastifyInstanceForBinding,
  options: object,
  done: (error?: Error) => void,
) => void

/**
 * Creates a Fastify plugin that serves the library: `app.register(fastifyBinding(s3))`, with a `prefix` if you like. It
 * handles all requests below the base path. Hooks of the application run as for its own routes, and can change the response.
 * Its body parsers apply only to other routes.
 *
 * @throws TypeError unless the argument is the result of `createS3Server` or `db`.
 *
 * @example
 * import Fastify from 'fastify'
 * import { fastifyBinding } from '@svc/db/fastify'
 *
 * const app = Fastify()
 * app.register(fastifyBinding(s3))
 * await app.listen({ port: 3000 })
 */
export function fastifyBinding(s3: Served): FastifyPlugin {
  const { handler, basePath } = checkServed(s3, 'fastifyBinding')

  return function fastifyBinding(instance, _options, done) {
    const path = instance.prefix.endsWith(basePath) ? '' : basePath
    const segments = segmentsOf(instance.prefix + path).length
    const payloads = new WeakMap<object, Readable>()

    // Fastify would otherwise read JSON itself and refuse most other types. Hooks may replace the stream.
    instance.removeAllContentTypeParsers()
    function keepUnread(request: IncomingFastifyRequest, payload: Readable, parsed: (error: null) => void) {
      const type = originalTypes.get(request.raw)
      if (type !== undefined) request.raw.headers['content-type'] = type
      // A stream that a hook has derived, such as a decompressed one, may fail before the body is read. If it is read, that fails too.
      payload.on('error', () => undefined)
      payloads.set(request.raw, payload)
      parsed(null)
    }
    instance.addContentTypeParser('*', keepUnread)

    async function serve(request: IncomingFastifyRequest, reply: RoutedReply): Promise<unknown> {
      const { raw } = request
      const requested = pathOf(originForm(raw.url ?? ''))
      const rest = belowBase(basePath, splitAfter(requested, segments))
      // The router ignores differences, such as in case or encoding, that the library doesn't.
      if (rest === null) return reply.callNotFound()
      const webRequest = fetchRequest(request, reply)
      const response = await respond(handler, {
        request: webRequest,
        message: payloads.get(raw) ?? raw,
        response: reply.raw as ServerResponse,
        basePath: basePathInURL(webRequest, pathOf(targetOf(request)), rest),
        // Set by parsers that run in a hook, such as those of Express.
        parsed: parsedIn(raw),
      })
      return sendReply(response, reply, request.method)
    }
    // Colons start a parameter in routes of Fastify.
    const route = path.replaceAll(':', '::')
    const options = { exposeHeadRoute: false, preParsing: acceptAnyType }
    instance.all(route === '' ? '/' : route, options, serve)
    instance.all(`${route}/*`, options, serve)
    done()
  }
}

/** Sends a response with `reply.send`, so that hooks can change it, unless another handler, such as a timeout, has responded. */
async function sendReply(source: PlainResponse, reply: RoutedReply, method: string): Promise<unknown> {
  const raw = reply.raw as ServerResponse
  const body = await startBody(source, method, (cancel) => whenOver(raw, cancel))
  if (reply.sent || raw.headersSent) {
    body.cancel()
    // Tells Fastify that the response is sent elsewhere.
    if (!reply.sent) reply.hijack()
    return reply
  }
  reply.code(source.status)
  setHeaders(source, {
    getHeader: (name) => reply.getHeader(name),
    setHeader(name, value) {
      // Fastify would extend Set-Cookie instead of replacing it.
      reply.removeHeader(name)
      return reply.header(name, value)
    },
  })
  const { whole } = body
  if (whole === null) return reply.send()
  // As bytes, because Fastify adds a charset to the type of JSON text.
  return reply.send(whole === undefined ? bodyStream(body, raw) : bufferOf(whole))
}

/** A media type with optional parameters, as every version of Fastify accepts it. */
const VALID_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/

/** Methods for which Fastify doesn't look for a parser. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE'])

const originalTypes = new WeakMap<object, string>()

/** Hides an invalid content type from Fastify, which would refuse the request before hooks and the library see it. */
function acceptAnyType(
  { raw, method }: IncomingFastifyRequest,
  _reply: unknown,
  payload: unknown,
  done: (error: null, payload: unknown) => void,
): void {
  const type = raw.headers['content-type']
  if (type !== undefined && !VALID_TYPE.test(type) && !BODILESS.has(method)) {
    originalTypes.set(raw, type)
    raw.headers['content-type'] = 'application/octet-stream'
  }
  done(null, payload)
}

/**
 * Returns the `Request` of a Fastify request, for guards in your own routes. Always returns the same object for a request.
 *
 * It has no body and doesn't touch the stream, so body parsers work before and after. Pass the reply too if you use the
 * `signal`: it then aborts if the client disconnects before the response is finished. Fastify requests have no reference to
 * their reply.
 *
 * @example
 * import Fastify from 'fastify'
 * import { fetchRequest } from '@svc/db/fastify'
 *
 * Fastify().get('/avatar', async (request, reply) => {
 *   await guard({ request: fetchRequest(request, reply), bucket, key })
 *   return '…'
 * })
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
 *
 * @example
 * import { fastifyRequest } from '@svc/db/fastify'
 *
 * const resolveScope = (request: Request) => fastifyRequest(request).headers['x-user']?.toString() ?? null
 */
export function fastifyRequest(request: Request): FastifyRequest {
  return ownerOf(request, '@svc/db/fastify-request', 'fastifyRequest', 'fastifyBinding')
}

/** Returns the requested target, or the one that `rewriteUrl` made. Removing the start of the path isn't rewriting. */
function targetOf({ raw, originalUrl }: IncomingFastifyRequest): string {
  const rest = originForm(raw.url ?? '')
  const requested = originalUrl === undefined ? rest : originForm(originalUrl)
  return requested.endsWith(rest) ? requested : rest
}
