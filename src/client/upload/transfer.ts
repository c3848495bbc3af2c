import type { KeptAttempts } from './kept-attempts.js'
import type { PutBytes, ReportSent } from './transport.js'
import type { UploadContext, UploadOptions, UploadRequest, UploadState } from './upload-request.js'

/** A file on its way to the bucket. */
export interface Transfer extends UploadContext {
  readonly kept: KeptAttempts
  readonly put: PutBytes
  readonly file: Blob
  readonly uploadRequest: UploadRequest
  readonly progress: ReportSent
  readonly phase: ReturnType<typeof trackPhase>
  readonly signal: AbortSignal
  /** Rejects the upload, if its time is over. What it still does then goes on without the caller. */
  readonly leave: () => void
}

/** Returns a function that calls `onProgress` only with increasing values up to the total, whatever the transport reports. */
export function trackProgress(total: number, onProgress: UploadOptions['onProgress']): ReportSent {
  let reported = -1
  return (bytes) => {
    const loaded = Math.min(bytes, total)
    if (loaded <= reported) return
    reported = loaded
    if (onProgress) onProgress({ loaded, total })
  }
}

/** Tells `onState` what an upload is doing. Calls it only with changes, also if several parts wait at once. */
export function trackPhase(onState: UploadOptions['onState']) {
  let phase: UploadState = 'sending'
  let reported: UploadState | undefined
  let waits = 0
  const report = (state: UploadState) => {
    if (state === reported) return
    reported = state
    if (onState) onState(state)
  }
  return {
    enter: (state: 'sending' | 'confirming') => report((phase = state)),
    /** Reports `waiting` until the promise has resolved. */
    async waiting(online: Promise<unknown>): Promise<void> {
      waits += 1
      report('waiting')
      await online
      report(phase)
    },
    /** How often the upload has waited. */
    waits: () => waits,
  }
}
