import { StorageError, toStorageError } from '../errors.js'
import { createObserve, type ObservedAnswer, type OperationObserver } from '../observer.js'
import type { Report } from '../reporter.js'
import type { Endpoint, OperationSubject } from './endpoint.js'
import { parseQuery } from './query.js'
import { errorResponse, replyResponse } from './reply.js'
import { bodyOf, readJsonObject, type RequestBody } from './request-body.js'

/** What a binding knows of a request beyond the `Request` itself. */
export interface HandlerOptions {
  /** The library's base path as it stands in this request's URL. Default: the configured `basePath`. */
  readonly basePath?: string
  /** Default: the body of the `Request`. */
  readonly body?: RequestBody
}

/** Serves anything that speaks `Request` and `Response`; never rejects. */
export type Handler = (request: Request, options?: HandlerOptions) => Promise<Response>

/** What the handler gives to the part that serves paths below a prefix by itself, such as a storage's own URLs. */
export interface SubtreeExchange {
  readonly request: Request
  readonly body: RequestBody
  /** Absolute URL of the subtree, without a slash at its end. */
  readonly baseURL: string
  /** The path below the subtree, still percent-encoded, without a slash at its start. */
  readonly path: string
}

/** Paths that are served whole by somebody else, who knows what may be done there by other means than the scope. */
export interface Subtree {
  /** Such as `/_storage`. */
  readonly prefix: `/${string}`
  readonly operation: string
  serve(exchange: SubtreeExchange): Promise<Response>
}

export interface HandlerConfiguration {
  readonly basePath: string
  readonly endpoints: readonly Endpoint[]
  readonly subtrees?: readonly Subtree[]
  readonly report: Report
  readonly onOperation?: OperationObserver | null | undefined
  /** The caller of a request. @throws StorageError `UNAUTHORIZED` where there is none. */
  resolveScope(request: Request): Promise<string>
}

/** What a router works by. */
export type EndpointTable = Pick<HandlerConfiguration, 'basePath' | 'endpoints'>

/** Under this name a handler keeps its table, the same one in the ESM and the CommonJS copy of this module. */
const TABLE = Symbol.for('@svc/db/endpoint-table')

/** The table of a handler that `createHandler` made; `undefined` for anything else. */
export function tableOf(handler: unknown): EndpointTable | undefined {
  return (handler as { [TABLE]?: EndpointTable } | null | undefined)?.[TABLE]
}

/** The router: finds the endpoint, runs it, and makes every answer, errors included. */
export function createHandler(configuration: HandlerConfiguration): Handler {
  const { endpoints, subtrees = [], report } = configuration
  const observe = createObserve(configuration.onOperation, report)

  async function answer(request: Request, options: HandlerOptions): Promise<Response> {
    const url = new URL(request.url)
    const basePath = options.basePath ?? configuration.basePath
    const path = pathBelow(basePath, url.pathname)
    const baseURL = url.origin + basePath
    const body = options.body ?? bodyOf(request)

    for (const subtree of subtrees) {
      const rest = path === null ? null : pathBelow(subtree.prefix, path)
      if (rest) {
        const exchange = { request, body, baseURL: baseURL + subtree.prefix, path: rest.slice(1) }
        return answering(request, subtree.operation, () => subtree.serve(exchange))
      }
    }

    const atPath = endpoints.filter((endpoint) => endpoint.path === path)
    if (atPath.length === 0) return errorResponse(new StorageError('NOT_FOUND'))
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const endpoint = atPath.find((candidate) => candidate.method === method)
    if (!endpoint)
      return errorResponse(new StorageError('METHOD_NOT_ALLOWED'), { allow: allowedMethods(atPath) })

    const known: OperationSubject = { scope: null, route: null }
    const exchange = {
      request,
      known,
      source: { query: parseQuery(url.search), json: () => readJsonObject(request, body) },
      baseURL,
      report,
      resolveScope: async () => (known.scope = await configuration.resolveScope(request)),
    }
    const work = async () => replyResponse(await endpoint.run(exchange))
    return answering(request, endpoint.operation, work, known)
  }

  function answering(
    request: Request,
    operation: string,
    work: () => Promise<Response>,
    known: OperationSubject = { scope: null, route: null },
  ): Promise<Response> {
    return observe({ operation, request }, async (): Promise<ObservedAnswer> => {
      try {
        return { response: await work(), error: null, ...known }
      } catch (thrown) {
        const error = toStorageError(thrown)
        if (error.status >= 500) report(error, { request, operation })
        return { response: errorResponse(error), error, ...known }
      }
    })
  }

  const handler: Handler = async (request, options = {}) => {
    const response = await answer(request, options)
    if (request.method !== 'HEAD') return response
    // Nobody will read it, and what feeds it (a file, say) must not stay open.
    void response.body?.cancel().catch(() => undefined)
    return new Response(null, response)
  }
  const table: EndpointTable = { basePath: configuration.basePath, endpoints }
  return Object.defineProperty(handler, TABLE, { value: table })
}

/** The rest of `path` below `base`: `''` or from a slash on; `null` where it isn't below. */
export function pathBelow(base: string, path: string): string | null {
  if (!path.startsWith(base)) return null
  const rest = path.slice(base.length)
  return rest === '' || rest.startsWith('/') ? rest : null
}

function allowedMethods(endpoints: readonly Endpoint[]): string {
  return endpoints.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
}
