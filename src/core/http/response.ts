import { errorBody, type StorageError } from '../errors.js'

/** A `Response` takes several times as long to create and to read as a framework takes to send one. */
export interface PlainResponse {
  readonly status: number
  /** Names are in lower case. `set-cookie` may occur more than once. */
  readonly headers: readonly HeaderEntry[]
  /** Not an iterator, which can't be cancelled during a read. Some runtimes know the length only of a `Response`'s own stream. */
  readonly body: string | ReadableStream<Uint8Array> | null
}

export type HeaderEntry = readonly [name: string, value: string]

export function fromResponse({ status, headers, body }: Response): PlainResponse {
  return { status, headers: [...headers], body }
}

export function toResponse({ status, headers, body }: PlainResponse): Response {
  // Some servers replace `Response` by a class that writes into the headers it is given.
  return new Response(body, { status, headers: new Headers(headers as [string, string][]) })
}

export function headOf({ status, headers, body }: PlainResponse): PlainResponse {
  // What the body came from, such as an open file, may already be closed.
  if (typeof body === 'object') void body?.cancel().catch(() => undefined)
  return { status, headers, body: null }
}

/** The result of an endpoint. */
export type Reply =
  | { readonly status: 200 | 201 | 204; readonly body?: object }
  /** The response to `HEAD`. */
  | { readonly status: 200; readonly headers: readonly HeaderEntry[] }
  /** `location` is an absolute URL or path. */
  | { readonly status: 302; readonly location: string }

/** Sent as `Retry-After` while the database is unavailable, unless only an operator can change that. Seconds. */
const RETRY_AFTER: HeaderEntry = Object.freeze(['retry-after', '5'])
const NEVER_CACHED: HeaderEntry = Object.freeze(['cache-control', 'private, no-store'])
const JSON_TYPE: HeaderEntry = Object.freeze(['content-type', 'application/json'])

export function replyResponse(reply: Reply): PlainResponse {
  if (reply.status === 302) {
    return { status: 302, headers: [NEVER_CACHED, ['location', reply.location]], body: null }
  }
  if ('headers' in reply) return { status: 200, headers: [NEVER_CACHED, ...reply.headers], body: null }
  const { status, body } = reply
  return body === undefined
    ? { status, headers: [NEVER_CACHED], body: null }
    : { status, headers: [NEVER_CACHED, JSON_TYPE], body: JSON.stringify(body) }
}

/** Never throws. `reportFlaw` gets an error if the response lacks params of an application's error. */
export function errorResponse(
  error: StorageError,
  headers: readonly HeaderEntry[] = [],
  reportFlaw: (flaw: TypeError) => void = () => undefined,
): PlainResponse {
  const retry = error.status === 503 && error.retryable ? [RETRY_AFTER] : []
  return {
    status: error.status,
    headers: [NEVER_CACHED, ...retry, ...headers, JSON_TYPE],
    body: errorText(error, reportFlaw),
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
  const names = valueOf(() => Object.keys(error.params ?? {})) ?? []
  const sendable = names.flatMap((name) => {
    const text = valueOf(() => JSON.stringify(error.params?.[name]) as string | undefined)
    return text === undefined ? [] : [[name, JSON.parse(text)] as const]
  })
  return sendable.length > 0 ? { params: Object.fromEntries(sendable) } : {}
}

function valueOf<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
