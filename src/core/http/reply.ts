import { errorBody, type StorageError } from '../errors.js'
import type { PlainResponse } from './plain-response.js'

/** The result of an endpoint, before it becomes a `Response`. */
export type Reply =
  | { readonly status: 200 | 201 | 204; readonly body?: object }
  /** `location` is an absolute URL. */
  | { readonly status: 302; readonly location: string }

/** Sent as `Retry-After` while the database is unavailable, unless only an operator can change that. Seconds. */
const RETRY_AFTER_SECONDS = '5'

const NEVER_CACHED = { 'cache-control': 'private, no-store' }
const JSON_TYPE = { 'content-type': 'application/json' }

const UNCACHED_JSON = { ...NEVER_CACHED, ...JSON_TYPE }

export function replyResponse(reply: Reply): PlainResponse {
  if (reply.status === 302) {
    return { status: 302, headers: { ...NEVER_CACHED, location: reply.location }, text: null }
  }
  const { status, body } = reply
  return body === undefined
    ? { status, headers: NEVER_CACHED, text: null }
    : { status, headers: UNCACHED_JSON, text: JSON.stringify(body) }
}

/** Never throws. `reportFlaw` gets an error if the response lacks params of an application's error. */
export function errorResponse(
  error: StorageError,
  headers: Readonly<Record<string, string>> = {},
  reportFlaw: (flaw: TypeError) => void = () => undefined,
): PlainResponse {
  return {
    status: error.status,
    headers: {
      ...NEVER_CACHED,
      ...(error.status === 503 && error.retryable && { 'retry-after': RETRY_AFTER_SECONDS }),
      ...headers,
      ...JSON_TYPE,
    },
    text: errorText(error, reportFlaw),
  }
}

function errorText(error: StorageError, reportFlaw: (flaw: TypeError) => void): string {
  try {
    return JSON.stringify(errorBody(error))
  } catch {
    const message =
      'Some params of a StorageError are missing in its response, because they are not valid JSON.'
    reportFlaw(new TypeError(message, { cause: error }))
    return JSON.stringify({ code: error.code, message: error.message, ...sendableParams(error) })
  }
}

/** Returns the params that JSON can represent. Others are a `BigInt`, contain themselves or throw when they are read. */
function sendableParams(error: StorageError): { params?: object } {
  const sendable: [string, unknown][] = []
  try {
    for (const name of Object.keys(error.params ?? {})) {
      const text = jsonOf(() => error.params?.[name])
      if (text !== undefined) sendable.push([name, JSON.parse(text)])
    }
  } catch {
    // The params can't even be listed.
  }
  return sendable.length > 0 ? { params: Object.fromEntries(sendable) } : {}
}

function jsonOf(read: () => unknown): string | undefined {
  try {
    return JSON.stringify(read())
  } catch {
    return undefined
  }
}
