import { S3ClientError, unanswered, unexpectedResponse, type S3ClientErrorCode } from './client-error.js'
import type { ErrorParams } from '../core/errors.js'

/** Headers for the calls of the API, such as `Authorization`. */
export type ClientHeaders = Headers | Readonly<Record<string, string>>

export interface ApiRequestOptions<Answer> {
  /** What is `null` or `undefined` is left out. */
  readonly query?: Readonly<Record<string, string | number | null | undefined>>
  /** Sent as JSON. */
  readonly body?: object
  /** The property by which the documented body is known. Left out: the answer is a 204 without a body. */
  readonly answer?: keyof Answer & string
  readonly signal?: AbortSignal | null | undefined
  /** The request outlives the page. */
  readonly keepalive?: boolean
}

/** Calls one path below the API's base and resolves to its documented body; rejects with {@link S3ClientError}. */
export type ApiRequest = <Answer = void>(
  method: 'GET' | 'POST' | 'DELETE',
  path: `/${string}`,
  options: ApiRequestOptions<Answer>,
) => Promise<Answer>

export interface ApiAccess {
  /** Absolute or relative URL of the API's base. */
  readonly base: string
  readonly fetch: typeof globalThis.fetch
  readonly headers?: ClientHeaders | (() => ClientHeaders | Promise<ClientHeaders>) | null | undefined
  readonly credentials?: RequestCredentials | null | undefined
}

export function createApiRequest({ base, fetch, headers, credentials }: ApiAccess): ApiRequest {
  return async <Answer>(
    method: string,
    path: string,
    { query = {}, body, answer, signal, keepalive = false }: ApiRequestOptions<Answer>,
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
      throw unanswered(signal, cause)
    }

    const received = parse(text)
    if (!answer && status === 204) return undefined as Answer
    if (answer && status < 300 && received?.[answer]) return received as Answer
    throw status < 400 ? unexpectedResponse(status) : refusal(status, received)
  }
}

/** A proxy, a captive portal or a login page may answer in the API's place, with any status and anything in it. */
function refusal(status: number, body: Readonly<Record<string, unknown>> | null): S3ClientError {
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
