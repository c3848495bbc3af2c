import type { Traffic } from './begin.js'
import type { KeptAttempts } from './kept-attempts.js'
import type { PutBytes, ReportSent } from './transport.js'
import type { UploadContext, UploadOptions, UploadRequest, UploadState } from './upload-request.js'

/** A file on its way to the bucket. */
export interface Transfer extends UploadContext {
  readonly kept: KeptAttempts
  readonly traffic: Traffic
  readonly put: PutBytes
  readonly file: Blob
  readonly uploadRequest: UploadRequest
  readonly progress: ReportSent
  readonly phase: ReturnType<typeof trackPhase>
  readonly signal: AbortSignal
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
  const report = (state: UploadState) => {
    if (state === reported) return
    reported = state
    if (onState) onState(state)
  }
  return {
    enter: (state: 'sending' | 'confirming') => report((phase = state)),
    isConfirming: () => phase === 'confirming',
    /** Reports `waiting` while `work` runs. */
    waiting: async (work: () => Promise<unknown>): Promise<void> => {
      report('waiting')
      await work()
      report(phase)
    },
  }
}

/** Takes the items one by one, and works on four at once: a browser has six connections to a host. Rejects with the first error, and leaves the rest. */
export async function fourAtOnce<Item>(items: Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const run = async () => {
    while (items.length > 0) await work(items.shift()!)
  }
  try {
    await Promise.all([run(), run(), run(), run()])
  } finally {
    items.length = 0
  }
}
