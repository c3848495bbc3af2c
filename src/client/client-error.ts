import type { ErrorCode, ErrorParams } from '../core/errors.js'

/**
 * The server's codes, and three of the client: `NETWORK_ERROR` (no response) and `ABORTED` (by the caller's signal), both
 * without a status, and `UNEXPECTED_RESPONSE` (a response that isn't from this API, such as a proxy's error page).
 */
export type S3ClientErrorCode = ErrorCode | 'NETWORK_ERROR' | 'ABORTED' | 'UNEXPECTED_RESPONSE'

export interface S3ClientErrorOptions {
  readonly status?: number | undefined
  readonly params?: ErrorParams | undefined
  readonly cause?: unknown
}

/** The error that all calls of the client reject with. Check `code`; `message` is for logs. */
export class S3ClientError extends Error {
  override readonly name = 'S3ClientError'
  readonly code: S3ClientErrorCode
  /** HTTP status; `undefined` if there was no response. */
  readonly status: number | undefined
  /** Details from the server, such as `{ limit, max, used, requested }` (bytes or files) for `QUOTA_EXCEEDED`. */
  readonly params: ErrorParams | undefined

  constructor(code: S3ClientErrorCode, message: string, options: S3ClientErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.code = code
    this.status = options.status
    this.params = options.params
  }
}

/** Returns the error of a call without a response: `ABORTED` if the caller's signal aborted, otherwise `NETWORK_ERROR`. */
export function withoutResponse(signal: AbortSignal | null | undefined, cause?: unknown): S3ClientError {
  return signal?.aborted
    ? new S3ClientError('ABORTED', 'The request was aborted.', { cause: signal.reason })
    : new S3ClientError('NETWORK_ERROR', 'The server could not be reached.', { cause })
}

export function unexpectedResponse(status: number): S3ClientError {
  return new S3ClientError('UNEXPECTED_RESPONSE', `Unexpected response from the server (status ${status}).`, {
    status,
  })
}

export function isCode(error: unknown, code: S3ClientErrorCode): boolean {
  return error instanceof S3ClientError && error.code === code
}

export function throwIfAborted(signal: AbortSignal | null | undefined): void {
  if (signal?.aborted) throw withoutResponse(signal)
}
