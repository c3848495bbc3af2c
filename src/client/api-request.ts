import { type CallOptions, limited } from './call-options.js'
import { type Asked, type HttpResponse, parseObject, responseError, withoutResponse } from './client-error.js'

export type Fetch = typeof globalThis.fetch

/** Headers for API calls, such as `Authorization`. */
export type ClientHeaders = Headers | Readonly<Record<string, string>>

type Query = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface ApiRequestOptions<Result> extends CallOptions {
  /** Parameters that are `null` or `undefined` are omitted. */
  readonly query?: Query | undefined
  /** Sent as JSON. */
  readonly body?: object
  /** A property that the documented response body has. Omitted: the response is a 204 without a body. */
  readonly answer?: keyof Result & string
  /** Whether the request may outlive the page. */
  readonly keepalive?: boolean
  /** Seconds that the response may take in addition to `stallSeconds`. */
  readonly patience?: number | undefined
}

/** Calls a path of the API. Resolves to the documented response body; rejects with {@link S3ClientError}. */
export type ApiRequest = <Result = void>(
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: `/${string}`,
  options: ApiRequestOptions<Result>,
) => Promise<Result>

export interface ObjectLocation {
  readonly key: string
  /** Default: the server's bucket. */
  readonly bucket?: string | null | undefined
}

export interface ObjectId {
  readonly id: string
  readonly key?: undefined
  readonly bucket?: undefined
}

export interface ApiAccess {
  /** Default: the global `fetch` at the time of the call. */
  readonly fetch?: Fetch | null | undefined
  readonly headers?: ClientHeaders | (() => ClientHeaders | Promise<ClientHeaders>) | null | undefined
  readonly credentials?: RequestCredentials | null | undefined
}

/**
 * Makes a request and reads its response, each of which may take some seconds. Rejects with {@link S3ClientError} if there is no
 * response, or if the application's functions inside `call` throw.
 */
export function exchange(
  options: CallOptions,
  timeoutSeconds: number,
  asked: Asked,
  call: (signal: AbortSignal) => Promise<Response>,
): Promise<HttpResponse> {
  return limited(
    options,
    (signal) =>
      limited({ signal, timeoutSeconds }, () => call(signal))
        .then(async (response) => ({
          status: response.status,
          text: await limited({ signal, timeoutSeconds }, () => response.text()),
          retryAfter: response.headers.get('retry-after'),
        }))
        .catch((cause: unknown) => {
          throw withoutResponse(signal, asked, cause)
        }),
    asked,
  )
}

/** Creates the function that calls the API at `base`, an absolute or relative URL. */
export function createApiRequest(
  base: string,
  { fetch, headers, credentials }: ApiAccess,
  stall: number,
): ApiRequest {
  return async <Result>(
    method: string,
    path: string,
    { query, body, answer, keepalive, patience = 0, ...options }: ApiRequestOptions<Result>,
  ) => {
    const asked = { method, path }
    const response = await exchange(options, stall + patience, asked, async (signal) => {
      const sent = new Headers((typeof headers === 'function' ? await headers() : headers) || {})
      if (body) sent.set('content-type', 'application/json')
      // `next` is for Next.js, whose `fetch` in 13 and 14 would cache the response for ever on the server.
      const init: object = {
        method,
        headers: sent,
        body: body && JSON.stringify(body),
        signal,
        keepalive,
        // A login page is not the API's response, and from another origin it would be none at all.
        redirect: 'manual',
        next: { revalidate: 0 },
        credentials: credentials || undefined,
      }
      // Called without a receiver: the browser's `fetch` throws when called as a method of another object.
      return (fetch || globalThis.fetch)(base + withQuery(path, query), init)
    })
    const received = parseObject(response.text)
    const isExpected = answer ? response.status < 300 && received[answer] : response.status === 204
    if (isExpected) return (answer && received) as Result
    throw responseError(response, asked)
  }
}

interface LocatedCall extends CallOptions {
  readonly id?: string | undefined
  readonly key?: string | undefined
  readonly bucket?: string | null | undefined
  readonly disposition?: string | null | undefined
  readonly cors?: boolean | null | undefined
}

/** Picks the options of a call on one object, because the caller's may have more fields. A record is found by its key. */
export function locate({ id, key, bucket, disposition, cors, signal, timeoutSeconds }: LocatedCall) {
  const query = key == null ? { id, disposition, cors } : { key, bucket, disposition, cors }
  return { query, signal, timeoutSeconds }
}

/** Appends parameters to a path, except those that are `null` or `undefined`. */
export function withQuery(path: string, query?: Query): string {
  const parameters = new URLSearchParams()
  // Not `set`, which React Native lacks.
  for (const name in query) if (query[name] != null) parameters.append(name, query[name] as string)
  const search = String(parameters)
  return search ? `${path}?${search}` : path
}

/**
 * Returns the address of a signed URL. Memory and disk storage serve theirs below the API, at the host that the server saw,
 * which a proxy may have replaced. If the application has set their `baseURL`, the URL has a query and stays.
 */
export function addressOf(url: string, base: string): string {
  const local = /\/_storage\/[\w.-]+$/.exec(url)
  return local ? absolute(base + local[0]) : url
}

/** Resolves an address against the page's. Returns it unchanged where there is no page, or one without an address. */
export function absolute(address: string): string {
  try {
    return new URL(address, location.href).href
  } catch {
    return address
  }
}

export function withoutTrailingSlash(url: string): string {
  return url.endsWith('/') ? withoutTrailingSlash(url.slice(0, -1)) : url
}
