import type { Account } from '../account.js'
import type { ApiRequest } from '../api-request.js'
import type { Fetch } from '../send.js'
import type { UploadOptions } from './upload-request.js'

/** The parts of the client that an upload uses. */
export interface UploadContext {
  /** Absolute or relative URL of the API. */
  readonly base: string
  readonly request: ApiRequest
  /** The application's, if it gave one. */
  readonly fetch?: Fetch | null | undefined
  readonly account?: Account
}

/** One call of the application. */
export interface UploadCall extends UploadContext {
  readonly options: UploadOptions
  readonly signal: AbortSignal
  /** Rejects the call while its work goes on. */
  readonly leave: (error: unknown) => void
}
