import { errorBody, type StorageError } from '../errors.js'

/** An answer before it becomes a `Response`; without `body` it has none. */
export interface Reply {
  readonly status: 200 | 201 | 204
  readonly body?: object
}

/** Seconds after which a client may try again when the database can't be reached. */
const RETRY_AFTER_SECONDS = '5'

const NEVER_CACHED = { 'cache-control': 'private, no-store' }

export function replyResponse({ status, body }: Reply): Response {
  return body === undefined
    ? new Response(null, { status, headers: NEVER_CACHED })
    : Response.json(body, { status, headers: NEVER_CACHED })
}

export function errorResponse(error: StorageError, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json(errorBody(error), {
    status: error.status,
    headers: {
      ...NEVER_CACHED,
      ...(error.status === 503 && { 'retry-after': RETRY_AFTER_SECONDS }),
      ...headers,
    },
  })
}
