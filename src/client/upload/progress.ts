import type { UploadOptions } from './upload-options.js'

/** Told how many bytes have been sent, or that all have been. */
export type ReportSent = (bytes: number) => void

/** Progress that only ever grows and never says more than the total, whatever a transport reports. */
export function trackProgress(total: number, onProgress: UploadOptions['onProgress']): ReportSent {
  let reported = -1
  return (bytes) => {
    const loaded = Math.min(bytes, total)
    if (loaded <= reported) return
    reported = loaded
    onProgress?.({ loaded, total })
  }
}
