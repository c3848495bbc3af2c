import { errorBody, type StorageError } from '../errors.js'

/** The result of an endpoint, before it becomes a `Response`. */
export interface Reply {
  readonly status: 200 | 201 | 204
  readonly body?: object
}

/** Sent as `Retry-After` while the database is unavailable. Seconds. */
const RETRY_AFTER_SECONDS = '5'

const NEVER_CACHED = { 'cache-control': 'private, no-store' }

/**
 * The property of a `Response` that holds the text of its body, so bindings don't have to read it back through a stream. It is
 * a registered symbol because bindings import only types of core.
 */
const RESPONSE_TEXT = Symbol.for('@svc/db/response-text')

export function replyResponse({ status, body }: Reply): Response {
  return body === undefined
    ? new Response(null, { status, headers: NEVER_CACHED })
    : jsonResponse(body, status, NEVER_CACHED)
}

/** Like `Response.json`, in half the time. */
function jsonResponse(body: object, status: number, headers: Readonly<Record<string, string>>): Response {
  const text = JSON.stringify(body)
  const response = new Response(text, { status, headers: { ...headers, 'content-type': 'application/json' } })
  return Object.defineProperty(response, RESPONSE_TEXT, { value: text })
}

export function errorResponse(error: StorageError, headers: Readonly<Record<string, string>> = {}): Response {
  return jsonResponse(errorBody(error), error.status, {
    ...NEVER_CACHED,
    ...(error.status === 503 && { 'retry-after': RETRY_AFTER_SECONDS }),
    ...headers,
  })
}
