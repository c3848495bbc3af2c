import type { DbClientObject } from '../../core/store/records.js'
import { withTimeout, type CallOptions } from '../call-options.js'
import { attemptCalls } from './attempt-calls.js'
import { endAttempt, isGone } from './end-attempt.js'
import { inOneTab, mayBeInProgress } from './in-one-tab.js'
import { keptAttempts } from './kept-attempts.js'
import type { UploadContext } from './transfer.js'

/** An interrupted upload. Uploading the same file with the same options resumes it. */
export interface UnfinishedUpload {
  readonly filename: string
  /** Bytes of the whole file. */
  readonly size: number
  /** Bytes that the bucket already has. */
  readonly loaded: number
  /** The pending object, as it was when the upload started. */
  readonly object: DbClientObject
  /**
   * Ends the upload, which releases its quota. If the server can't be reached, a later upload or `settleUploads()` does. Does
   * nothing if the upload has been resumed.
   */
  readonly discard: (options?: CallOptions) => Promise<void>
}

/** Implements `api.unfinishedUploads`. */
export async function unfinishedUploads(
  context: UploadContext,
  signal: AbortSignal,
): Promise<UnfinishedUpload[]> {
  const { request } = context
  const kept = keptAttempts(context)
  const found = await Promise.all(
    kept.slots().map(async (slot): Promise<UnfinishedUpload[]> => {
      const attempt = slot.read()
      if (!attempt || !attempt.identity || attempt.aborted) return []
      if (await mayBeInProgress(slot.name, attempt.until)) return []
      let loaded = 0
      try {
        const { sizes } = await attemptCalls(request, attempt).list(signal)
        for (const size of sizes.values()) loaded += size
      } catch (error) {
        // It has lapsed, or another tab has completed it. `settle` finds out which.
        if (isGone(error)) return []
        throw error
      }
      const { uploadId: _1, until: _2, identity: _3, ...object } = attempt
      const { filename = object.key, declaredSize: size = loaded } = object
      const discard = (options: CallOptions = {}) =>
        withTimeout(options, async () => {
          await inOneTab(slot, () => endAttempt({ request, kept, slot, attempt }))
        })
      return [{ filename, size, loaded, object, discard }]
    }),
  )
  return found.flat().sort((one, other) => (one.object.id < other.object.id ? -1 : 1))
}
