import { errorBody, type StorageError } from '../errors.js'

/** An answer before it becomes a `Response`; without `body` it has none. */
export interface Reply {
  readonly status: 200 | 201 | 204
  readonly body?: object
}

/** Seconds after which a client may try again when the database can't be reached. */
const RETRY_AFTER_SECONDS = '5'

const NEVER_CACHED = { 'cache-control': 'private, no-store' }

/**
 * Where a `Response` keeps the text of its body for bindings, which then don't read it back through a stream. Registered:
 * they know core by its types only, and the ESM and the CommonJS build agree.
 */
const RESPONSE_TEXT = Symbol.for('@svc/db/response-text')

export function replyResponse({ status, body }: Reply): Response {
  return body === undefined
    ? new Response(null, { status, headers: NEVER_CACHED })
    : jsonResponse(body, status, NEVER_CACHED)
}

/** As `Response.json`, which takes twice as long. */
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
