import type { ApiRequest } from '../api-request.js'

/** What an upload needs of the client. */
export interface UploadContext {
  /** Absolute or relative URL of the API's base. */
  readonly base: string
  readonly request: ApiRequest
  /** For signed URLs where there is no `XMLHttpRequest`. */
  readonly fetch: typeof globalThis.fetch
}
