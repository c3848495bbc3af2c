import type { ErrorCode, ErrorParams } from '../core/errors.js'

/**
 * The server's codes, and seven of the client. Without a status: `NETWORK_ERROR` (no response), `ABORTED` (by the caller's
 * signal, or because another account has signed in before the upload started), `PAUSED` (by {@link PAUSED}), `TIMEOUT` (by
 * `timeoutSeconds`), `FILE_UNREADABLE` (the file was changed or removed, or is a folder) and `CODE_UNAVAILABLE` (the code for
 * uploads could not be loaded). `UNEXPECTED_RESPONSE` is a response that isn't from this API, such as a proxy's error page;
 * `params.body` has its first 500 characters, and `params.code` the `code` of a JSON body.
 */
export type S3ClientErrorCode =
  | ErrorCode
  | 'NETWORK_ERROR'
  | 'ABORTED'
  | 'PAUSED'
  | 'TIMEOUT'
  | 'UNEXPECTED_RESPONSE'
  | 'FILE_UNREADABLE'
  | 'CODE_UNAVAILABLE'

export interface S3ClientErrorOptions {
  readonly status?: number | undefined
  readonly params?: ErrorParams | undefined
  readonly cause?: unknown
  readonly method?: string | undefined
  readonly path?: string | null | undefined
}

/** The request that an error belongs to. `path` is `null` for the bucket. */
export interface Asked {
  readonly method: string
  readonly path: string | null
}

/**
 * The error that all calls of the client reject with. Check `code`; `message` is for logs and begins with what was requested.
 *
 * @example
 * import { S3ClientError } from '@svc/db/client'
 *
 * try {
 *   await api.upload(file)
 * } catch (error) {
 *   if (!(error instanceof S3ClientError)) throw error
 *   console.log(error.code, error.params)
 * }
 */
export class S3ClientError extends Error {
  declare readonly name: 'S3ClientError'
  declare readonly code: S3ClientErrorCode
  /** HTTP status; `undefined` if there was no response, 0 for a redirect, whose status browsers hide. */
  declare readonly status: number | undefined
  /**
   * Details from the server, such as `{ limit, max, used, requested }` (bytes or files) for `QUOTA_EXCEEDED`, and
   * `retryAfter`, the seconds of a `Retry-After` header. A date in that header is ignored.
   */
  declare readonly params: ErrorParams | undefined
  /** HTTP method of the failed request; `undefined` if the error doesn't belong to one. */
  declare readonly method: string | undefined
  /** Path below `basePath`, without its query. `null`: the request went to the bucket. */
  declare readonly path: string | null | undefined

  constructor(code: S3ClientErrorCode, message: string, options: S3ClientErrorOptions = {}) {
    super((options.method ? `${options.method} ${options.path || 'to the bucket'}: ` : '') + message, options)
    // Declared fields and one assignment, because fields would need a helper in ES2019.
    Object.assign(this, { name: 'S3ClientError', code, status: undefined }, options)
  }
}

/**
 * The reason that pauses an upload: `controller.abort(PAUSED)`. The call rejects with code `PAUSED`. An upload in parts keeps what has
 * arrived, stays reserved, and goes on there when the same file is uploaded again, also after a reload. An upload in one PUT begins again.
 * While the server verifies the bytes, a pause comes too late, and the call resolves, unless parts have to be sent again.
 *
 * @example
 * import { PAUSED } from '@svc/db/client'
 *
 * const controller = new AbortController()
 * api.upload(file, { signal: controller.signal }).catch(({ code }) => code === 'PAUSED' && showResume())
 * pauseButton.onclick = () => controller.abort(PAUSED)
 */
export const PAUSED: Error = /* @__PURE__ */ Object.assign(/* @__PURE__ */ new Error('Paused.'), {
  name: 'PAUSED',
})

/** Returns whether a signal aborted for a pause. By the name, because an application may have two copies of this module. */
export function isPause(reason: unknown): boolean {
  return (Object(reason) as Error).name === 'PAUSED'
}

/**
 * Returns the error of a call without a response: that of the time limit, or `PAUSED` or `ABORTED` if the signal aborted, otherwise
 * `NETWORK_ERROR`.
 */
export function withoutResponse(
  { aborted, reason }: { readonly aborted: boolean; readonly reason?: unknown },
  asked?: Asked,
  cause?: unknown,
): S3ClientError {
  if (isCode(reason, 'TIMEOUT')) return reason
  const code = isPause(reason) ? 'PAUSED' : 'ABORTED'
  return aborted
    ? new S3ClientError(code, `${code.toLowerCase()}.`, { ...asked, cause: reason })
    : new S3ClientError('NETWORK_ERROR', 'no response.', { ...asked, cause })
}

export interface HttpResponse {
  readonly status: number
  readonly text: string
  /** The header `Retry-After`. */
  readonly retryAfter: string | null
}

/** The server's codes. A response with any other comes from elsewhere, whatever its shape. */
const OWN_CODES = {
  VALIDATION_ERROR: 1,
  INVALID_CURSOR: 1,
  UNAUTHORIZED: 1,
  FORBIDDEN: 1,
  OBJECT_NOT_FOUND: 1,
  NOT_FOUND: 1,
  METHOD_NOT_ALLOWED: 1,
  KEY_CONFLICT: 1,
  UPLOAD_MISMATCH: 1,
  UPLOAD_REJECTED: 1,
  QUOTA_EXCEEDED: 1,
  FILE_TOO_LARGE: 1,
  CONTENT_TYPE_NOT_ALLOWED: 1,
  STORAGE_UNAVAILABLE: 1,
  DATABASE_UNAVAILABLE: 1,
  INTERNAL_ERROR: 1,
} satisfies Record<ErrorCode, 1>

/**
 * Returns the error of a response. A refusal of this API keeps its code. Anything else may come from a proxy, a captive portal, a
 * login page, or from the application's own middleware, so it proves nothing.
 */
export function responseError({ status, text, retryAfter }: HttpResponse, asked: Asked): S3ClientError {
  const { code, message, params } = parseObject(text)
  const isOwn =
    status >= 400 && typeof message === 'string' && Object.keys(OWN_CODES).includes(code as string)
  const foreign = { body: [...text].slice(0, 500).join(''), ...(typeof code === 'string' && { code }) }
  return new S3ClientError(
    isOwn ? (code as ErrorCode) : 'UNEXPECTED_RESPONSE',
    isOwn ? message : `unexpected response (${status}).`,
    {
      ...asked,
      status,
      params: {
        ...(isOwn ? (params as ErrorParams) : foreign),
        ...(Number(retryAfter) > 0 && { retryAfter: Number(retryAfter) }),
      },
    },
  )
}

/** Parses a JSON object. Returns an empty one for anything else. */
export function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}

export function isCode(error: unknown, ...codes: S3ClientErrorCode[]): error is S3ClientError {
  return error instanceof S3ClientError && codes.includes(error.code)
}
