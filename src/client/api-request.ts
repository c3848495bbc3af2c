import type { ErrorParams } from '../core/errors.js'
import { S3ClientError, unexpectedResponse, withoutResponse, type S3ClientErrorCode } from './client-error.js'

/** Headers for API calls, such as `Authorization`. */
export type ClientHeaders = Headers | Readonly<Record<string, string>>

export interface ApiRequestOptions<Result> {
  /** Parameters that are `null` or `undefined` are omitted. */
  readonly query?: Readonly<Record<string, string | number | null | undefined>>
  /** Sent as JSON. */
  readonly body?: object
  /** A property that the documented response body has. Omitted: the response is a 204 without a body. */
  readonly answer?: keyof Result & string
  readonly signal?: AbortSignal | null | undefined
  /** Whether the request may outlive the page. */
  readonly keepalive?: boolean
}

/** Calls a path of the API. Resolves to the documented response body; rejects with {@link S3ClientError}. */
export type ApiRequest = <Result = void>(
  method: 'GET' | 'POST' | 'DELETE',
  path: `/${string}`,
  options: ApiRequestOptions<Result>,
) => Promise<Result>

export interface ApiAccess {
  /** Absolute or relative URL of the API. */
  readonly base: string
  readonly fetch: typeof globalThis.fetch
  readonly headers?: ClientHeaders | (() => ClientHeaders | Promise<ClientHeaders>) | null | undefined
  readonly credentials?: RequestCredentials | null | undefined
}

export function createApiRequest({ base, fetch, headers, credentials }: ApiAccess): ApiRequest {
  return async <Result>(
    method: string,
    path: string,
    { query = {}, body, answer, signal, keepalive = false }: ApiRequestOptions<Result>,
  ) => {
    const sent = new Headers((typeof headers === 'function' ? await headers() : headers) ?? {})
    if (body) sent.set('content-type', 'application/json')
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) {
      if (value != null) parameters.set(name, String(value))
    }
    const search = String(parameters)
    let status: number
    let text: string
    try {
      const response = await fetch(base + path + (search && `?${search}`), {
        method,
        headers: sent,
        body: body ? JSON.stringify(body) : null,
        signal: signal ?? null,
        keepalive,
        ...(credentials && { credentials }),
      })
      status = response.status
      text = await response.text()
    } catch (cause) {
      throw withoutResponse(signal, cause)
    }

    const received = parse(text)
    if (!answer && status === 204) return undefined as Result
    if (answer && status < 300 && received?.[answer]) return received as Result
    throw status < 400 ? unexpectedResponse(status) : errorOf(status, received)
  }
}

/** A proxy, a captive portal or a login page may respond instead of the API, with any status and body. */
function errorOf(status: number, body: Readonly<Record<string, unknown>> | null): S3ClientError {
  const { code, message, params } = body ?? {}
  if (typeof code !== 'string' || typeof message !== 'string') return unexpectedResponse(status)
  return new S3ClientError(code as S3ClientErrorCode, message, { status, params: params as ErrorParams })
}

function parse(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return null
  }
}

/**
 * Wraps the application's `fetch`, or the global one at the time of the call. Rejects as soon as the signal aborts, because
 * custom implementations often ignore it.
 */
export function abortableFetch(given: typeof globalThis.fetch | null | undefined): typeof globalThis.fetch {
  return async (input, init) => {
    const signal = init?.signal
    signal?.throwIfAborted()
    // Called without a receiver: the browser's `fetch` throws when called as a method of another object.
    const fetch = given ?? globalThis.fetch
    if (!signal) return fetch(input, init)
    return new Promise((resolve, reject) => {
      const stop = () => reject(withoutResponse(signal))
      signal.addEventListener('abort', stop)
      fetch(input, init)
        .finally(() => signal.removeEventListener('abort', stop))
        .then(resolve, reject)
    })
  }
}
