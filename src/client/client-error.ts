import type { ErrorCode, ErrorParams } from '../core/errors.js'

/**
 * The server's codes, and four of the client. Without a status: `NETWORK_ERROR` (no response), `ABORTED` (by the caller's
 * signal, or because another account has signed in before the upload started) and `TIMEOUT` (by `timeoutSeconds`).
 * `UNEXPECTED_RESPONSE` is a response that isn't from this API, such as a proxy's error page; `params.body` has its first 500
 * characters.
 */
export type S3ClientErrorCode = ErrorCode | 'NETWORK_ERROR' | 'ABORTED' | 'TIMEOUT' | 'UNEXPECTED_RESPONSE'

export interface S3ClientErrorOptions {
  readonly status?: number | undefined
  readonly params?: ErrorParams | undefined
  readonly cause?: unknown
}

/** The error that all calls of the client reject with. Check `code`; `message` is for logs. */
export class S3ClientError extends Error {
  declare readonly name: 'S3ClientError'
  declare readonly code: S3ClientErrorCode
  /** HTTP status; `undefined` if there was no response. */
  declare readonly status: number | undefined
  /** Details from the server, such as `{ limit, max, used, requested }` (bytes or files) for `QUOTA_EXCEEDED`. */
  declare readonly params: ErrorParams | undefined

  constructor(code: S3ClientErrorCode, message: string, options: S3ClientErrorOptions = {}) {
    super(message, options)
    // Declared fields and one assignment, because fields would need a helper in ES2019.
    Object.assign(this, { name: 'S3ClientError', code, status: options.status, params: options.params })
  }
}

/** Returns the error of a call without a response: `ABORTED` or `TIMEOUT` if the signal aborted, otherwise `NETWORK_ERROR`. */
export function withoutResponse(
  { aborted, reason }: { readonly aborted: boolean; readonly reason?: unknown },
  cause?: unknown,
): S3ClientError {
  if (isCode(reason, 'TIMEOUT')) return reason
  return aborted
    ? new S3ClientError('ABORTED', 'Aborted.', { cause: reason })
    : new S3ClientError('NETWORK_ERROR', 'No response.', { cause })
}

/**
 * Returns the error of a response. A refusal in this API's format keeps its code, also a code that this version doesn't know.
 * Anything else may come from a proxy, a captive portal or a login page.
 */
export function responseError(status: number, text: string): S3ClientError {
  const { code, message, params } = parseObject(text)
  return status >= 400 && typeof code === 'string' && typeof message === 'string'
    ? new S3ClientError(code as S3ClientErrorCode, message, { status, params: params as ErrorParams })
    : new S3ClientError('UNEXPECTED_RESPONSE', 'Unexpected response.', {
        status,
        // With the `u` flag, a character is a code point.
        params: { body: /^.{0,500}/su.exec(text)![0] },
      })
}

/** Parses a JSON object. Returns an empty one for anything else. */
export function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}

export function isCode(error: unknown, code: S3ClientErrorCode): error is S3ClientError {
  return error instanceof S3ClientError && error.code === code
}
