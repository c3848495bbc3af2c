import type { ApiRequest } from '../api-request.js'
import type { UploadOptions, UploadRequest } from './upload-request.js'

/** The parts of the client that an upload uses. */
export interface UploadContext {
  /** Absolute or relative URL of the API. */
  readonly base: string
  readonly request: ApiRequest
  /** For signed URLs if there is no `XMLHttpRequest`. */
  readonly fetch: typeof globalThis.fetch
}

/** Reports how many bytes have been sent. `Infinity`: all of them. */
export type ReportSent = (bytes: number) => void

/** A file on its way to the bucket. */
export interface Transfer {
  readonly file: Blob
  readonly uploadRequest: UploadRequest
  readonly progress: ReportSent
  readonly signal?: AbortSignal | null | undefined
}

/** Returns a function that calls `onProgress` only with increasing values up to the total, whatever the transport reports. */
export function trackProgress(total: number, onProgress: UploadOptions['onProgress']): ReportSent {
  let reported = -1
  return (bytes) => {
    const loaded = Math.min(bytes, total)
    if (loaded <= reported) return
    reported = loaded
    onProgress?.({ loaded, total })
  }
}
