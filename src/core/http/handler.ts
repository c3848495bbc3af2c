import { StorageError, toStorageError } from '../errors.js'
import { createObserve, type ObservedResponse, type OperationObserver } from '../observer.js'
import type { Report } from '../reporter.js'
import { shown } from '../store/validation/checks.js'
import type { Endpoint, Exchange, OperationSubject } from './endpoint.js'
import { parseQuery } from './query.js'
import { bodyOf, isFailedBody, readJsonObject, type RequestBody } from './request-body.js'
import {
  errorResponse,
  fromResponse,
  headOf,
  replyResponse,
  toResponse,
  type PlainResponse,
} from './response.js'

export const DEFAULT_BASE_PATH = '/api/s3'

/** What a binding knows about a request beyond the `Request` itself. */
export interface HandlerOptions {
  /** The base path in this request's URL. Default: the configured `basePath`. */
  readonly basePath?: string
  /** Default: the body of the `Request`. */
  readonly body?: RequestBody
  /** Whether one slash at the end of the path is ignored, unless the server decides. Default: true. */
  readonly trailingSlash?: boolean
}

/** Returns the response to a request. Rejects with a `TypeError` for anything but a `Request`, and never otherwise. */
export type Handler = (request: Request, options?: HandlerOptions) => Promise<Response>

/** Like {@link Handler}, for bindings. They find it as a property of the handler, so a function around a handler lacks it. */
export type PlainHandler = (request: Request, options?: HandlerOptions) => Promise<PlainResponse>

/** A request to a path below a {@link Subtree}. */
export interface SubtreeExchange {
  readonly request: Request
  readonly body: RequestBody
  /** Absolute URL of the subtree, without a trailing slash. */
  readonly baseURL: string
  /** The path below the subtree, percent-encoded, without a leading slash. */
  readonly path: string
}

/** A prefix whose paths are served by other code with its own access control, such as the signed URLs of a storage. */
export interface Subtree {
  /** Path below the base path, such as `/_storage`. */
  readonly prefix: `/${string}`
  readonly operation: string
  serve(exchange: SubtreeExchange): Promise<Response>
}

export interface HandlerConfiguration {
  readonly basePath: string
  /** Whether one slash at the end of a path is ignored. `null`: the caller of the handler decides. */
  readonly trailingSlash?: boolean | null
  readonly endpoints: readonly Endpoint[]
  readonly subtrees?: readonly Subtree[]
  readonly report: Report
  readonly onOperation?: OperationObserver | null | undefined
  /** Returns the caller's scope, or `null` if the caller is not signed in. */
  resolveScope(request: Request): Promise<string | null>
}

/** Registered symbols, because the ESM and the CommonJS build are two copies of this module, and bindings import only its types. */
const TABLE = Symbol.for('@svc/db/endpoint-table')
const PLAIN_HANDLER = Symbol.for('@svc/db/plain-handler')

/** The router's table, for the OpenAPI document. */
export type EndpointTable = Pick<HandlerConfiguration, 'basePath' | 'endpoints'>

export function tableOf(handler: unknown): EndpointTable | undefined {
  return (handler as { readonly [TABLE]?: EndpointTable } | null | undefined)?.[TABLE]
}

/** Creates the router: it finds and runs the endpoint, and builds every response, errors included. */
export function createHandler(configuration: HandlerConfiguration): Handler {
  const { endpoints, subtrees = [], report } = configuration
  const observe = createObserve(configuration.onOperation, report)

  async function respond(request: Request, options: HandlerOptions): Promise<PlainResponse> {
    const url = new URL(request.url)
    const basePath = options.basePath ?? configuration.basePath
    const path = pathBelow(basePath, url.pathname)
    const baseURL = url.origin + basePath
    const body = options.body ?? bodyOf(request)

    for (const subtree of subtrees) {
      const rest = path === null ? null : pathBelow(subtree.prefix, path)
      if (rest) {
        const exchange = { request, body, baseURL: baseURL + subtree.prefix, path: rest.slice(1) }
        return runOperation(request, subtree.operation, async () =>
          fromResponse(await subtree.serve(exchange)),
        )
      }
    }

    // Frameworks and proxies may add a slash to every path. Where none does, it must not bypass a guard on the exact path.
    const ignoresSlash = configuration.trailingSlash ?? options.trailingSlash ?? true
    const exact = ignoresSlash && path?.endsWith('/') ? path.slice(0, -1) : path
    const atPath = endpoints.filter((endpoint) => endpoint.path === exact)
    if (atPath.length === 0) return errorResponse(new StorageError('NOT_FOUND'))
    const endpointOf = (method: string) => atPath.find((candidate) => candidate.method === method)
    const endpoint = endpointOf(request.method) ?? (request.method === 'HEAD' ? endpointOf('GET') : undefined)
    if (!endpoint) {
      const methods = atPath.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
      const allowed = [...new Set(methods)].join(', ')
      return errorResponse(new StorageError('METHOD_NOT_ALLOWED'), [['allow', allowed]])
    }

    const known: OperationSubject = { scope: null, route: null }
    const findScope = async () => (known.scope = await configuration.resolveScope(request))
    const exchange: Exchange = {
      request,
      known,
      source: { query: parseQuery(url.search), json: () => readJsonObject(request, body) },
      baseURL,
      report,
      findScope,
      async resolveScope() {
        const scope = await findScope()
        if (scope === null) throw new StorageError('UNAUTHORIZED')
        return scope
      },
    }
    const work = async () => replyResponse(await endpoint.run(exchange))
    return runOperation(request, endpoint.operation, work, known)
  }

  function runOperation(
    request: Request,
    operation: string,
    work: () => Promise<PlainResponse>,
    known: OperationSubject = { scope: null, route: null },
  ): Promise<PlainResponse> {
    return observe({ operation, request }, async (): Promise<ObservedResponse> => {
      try {
        return { response: await work(), error: null, ...known }
      } catch (thrown) {
        const error = toStorageError(thrown)
        const reportHere = (reported: Error) => report(reported, { request, operation })
        if (error.status >= 500 || isFailedBody(error, request)) reportHere(error)
        return { response: errorResponse(error, [], reportHere), error, ...known }
      }
    })
  }

  const plainHandler: PlainHandler = async (request, options = {}) => {
    const response = await respond(request, options)
    return request.method === 'HEAD' ? headOf(response) : response
  }
  const handler: Handler = async (request, options) => {
    checkRequest(request)
    return toResponse(await plainHandler(request, options ?? {}))
  }
  return Object.defineProperties(handler, {
    [TABLE]: { value: { basePath: configuration.basePath, endpoints } },
    [PLAIN_HANDLER]: { value: plainHandler },
  })
}

/** Many frameworks pass an object with the request. Not `instanceof`, because some servers have a `Request` of their own. */
function checkRequest(request: Partial<Request> | undefined): void {
  if (typeof request?.url === 'string' && typeof request.headers?.get === 'function') return
  throw new TypeError(
    'handler expects a Request: pass event.request if your framework passes an event or a context.',
  )
}

/** Returns the rest of `path` below `base`: `''`, or a path with a leading slash; `null` if it isn't below. */
function pathBelow(base: string, path: string): string | null {
  if (!path.startsWith(base)) return null
  const rest = path.slice(base.length)
  return rest === '' || rest.startsWith('/') ? rest : null
}

/** Returns a base path with a leading slash and without a trailing one; `''` for the root. */
export function checkBasePath(caller: string, basePath: unknown): string {
  const path = typeof basePath === 'string' ? withoutTrailingSlash(basePath) : null
  if (path === null || (path !== '' && !isPathname(path))) {
    throw new TypeError(
      `${caller}: basePath must be a path such as "${DEFAULT_BASE_PATH}" (got ${shown(basePath)}).`,
    )
  }
  return path
}

export function withoutTrailingSlash(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

/** Returns whether a URL parser leaves the path unchanged: `//x` would be a host, `..` is resolved and spaces are encoded. */
function isPathname(path: string): boolean {
  const base = 'http://localhost'
  return path.startsWith('/') && URL.canParse(path, base) && new URL(path, base).pathname === path
}
