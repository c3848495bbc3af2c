import type { DbClientObject } from '../../core/store/records.js'
import { limited, type CallOptions } from '../call-options.js'
import { attemptCalls } from './attempt-calls.js'
import { endAttempt, isGone } from './end-attempt.js'
import { inOneTab, mayBeInProgress } from './in-one-tab.js'
import { keptAttempts, type Slot } from './kept-attempts.js'
import type { UploadCall } from './upload-context.js'

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

/** Implements `api.unfinishedUploads`: returns the attempts that can be resumed, oldest first. */
export async function unfinishedUploads(call: UploadCall): Promise<UnfinishedUpload[]> {
  const slots = keptAttempts(call).slots()
  const found = await Promise.all(slots.map((slot) => unfinishedIn(slot, call.signal)))
  return found.flat().sort((one, other) => (one.object.id < other.object.id ? -1 : 1))
}

/** Returns the attempt of a slot, or an empty array if it can't be resumed. */
async function unfinishedIn(slot: Slot, signal: AbortSignal): Promise<UnfinishedUpload[]> {
  const attempt = slot.read()
  if (!attempt || !attempt.identity || attempt.aborted || (await mayBeInProgress(slot, attempt))) return []
  const { object } = attempt
  let loaded = 0
  try {
    const { sizes } = await attemptCalls(slot.request, attempt).list(signal)
    for (const size of sizes.values()) loaded += size
  } catch (error) {
    // It has lapsed, or another tab has completed it. `settle` finds out which.
    if (isGone(error)) return []
    throw error
  }
  const { filename = object.key, declaredSize: size = loaded } = object
  const discard = async (options: CallOptions = {}) => {
    await limited(options, () => inOneTab(slot, () => endAttempt(slot, attempt)))
  }
  return [{ filename, size, loaded, object, discard }]
}
