import { isPause } from '../client-error.js'
import type { UploadOptions, UploadState } from './upload-request.js'

/** Reports how many bytes have been sent. `Infinity`: all of them. */
export type ReportSent = (bytes: number) => void

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
  let stopLater: (() => void) | undefined
  const report = (state: UploadState) => {
    if (state === reported) return
    reported = state
    if (onState) onState(state)
  }
  return {
    enter(state: 'sending' | 'confirming') {
      report((phase = state))
      if (state === 'sending' && stopLater) stopLater()
    },
    isConfirming: () => phase === 'confirming',
    /** Keeps a pause back while the server verifies the bytes. It takes effect if some of them have to be sent again. */
    holdBack: (reason: unknown, stop: () => void) => {
      if (phase !== 'confirming' || !isPause(reason)) return false
      stopLater = stop
      return true
    },
    /** Reports `waiting` while `work` runs. */
    waiting: async (work: () => Promise<unknown>): Promise<void> => {
      report('waiting')
      await work()
      report(phase)
    },
  }
}
