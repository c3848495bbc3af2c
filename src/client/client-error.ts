import type { ErrorCode, ErrorParams } from '../core/errors.js'

/**
 * The server's codes, and three of the client's own: `NETWORK_ERROR` (no answer came) and `ABORTED` (by the caller's
 * signal) have no status; `UNEXPECTED_RESPONSE` is an answer that isn't this API's, such as a proxy's error page.
 */
export type S3ClientErrorCode = ErrorCode | 'NETWORK_ERROR' | 'ABORTED' | 'UNEXPECTED_RESPONSE'

export interface S3ClientErrorOptions {
  readonly status?: number | undefined
  readonly params?: ErrorParams | undefined
  readonly cause?: unknown
}

/** What every call of the client rejects with. Programs go by `code`; `message` is for people who read logs. */
export class S3ClientError extends Error {
  override readonly name = 'S3ClientError'
  readonly code: S3ClientErrorCode
  /** HTTP status; `undefined` where no answer came. */
  readonly status: number | undefined
  /** Details that the server gave, such as `{ limit, max, used, requested }` (bytes or files) of `QUOTA_EXCEEDED`. */
  readonly params: ErrorParams | undefined

  constructor(code: S3ClientErrorCode, message: string, options: S3ClientErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.code = code
    this.status = options.status
    this.params = options.params
  }
}

/** The error of a call that got no answer: the caller's own abort, or the network's failure. */
export function unanswered(signal: AbortSignal | null | undefined, cause?: unknown): S3ClientError {
  return signal?.aborted
    ? new S3ClientError('ABORTED', 'The call was aborted.', { cause: signal.reason })
    : new S3ClientError('NETWORK_ERROR', 'The server could not be reached.', { cause })
}

export function unexpectedResponse(status: number): S3ClientError {
  return new S3ClientError('UNEXPECTED_RESPONSE', `The answer (${status}) was not one of this API.`, {
    status,
  })
}

export function isCode(error: unknown, code: S3ClientErrorCode): boolean {
  return error instanceof S3ClientError && error.code === code
}

export function throwIfAborted(signal: AbortSignal | null | undefined): void {
  if (signal?.aborted) throw unanswered(signal)
}
