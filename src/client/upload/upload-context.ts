import type { Account } from '../account.js'
import type { ApiRequest, Fetch } from '../api-request.js'

/** The parts of the client that an upload uses. */
export interface UploadContext {
  /** Absolute or relative URL of the API. */
  readonly base: string
  readonly request: ApiRequest
  /** The application's, if it gave one. */
  readonly fetch: Fetch | null | undefined
  readonly account: Account
}
