import type { DbClientObject } from '../../core/store/records.js'
import { type CallOptions, limited } from '../call-options.js'
import { isCode } from '../client-error.js'
import { attemptCalls, END_LIMIT, endAttempt, isGone } from './attempt.js'
import { inOneTab, keptAttempts, mayBeInProgress, type Slot } from './kept-attempts.js'
import type { UploadCall, UploadContext } from './upload-request.js'

/** How many attempts were settled. */
export interface SettledUploads {
  /** Their bytes had arrived, so they are objects now. */
  readonly confirmed: number
  /** Aborted, or no longer known to the server. */
  readonly ended: number
  /** Resumable, in progress, or left for the next time because the server couldn't be reached. */
  readonly kept: number
}

/** The runs in progress. Uploads that start together wait for the same one. */
const running = new Map<string, Promise<SettledUploads>>()

/**
 * Implements `api.settleUploads`: settles the attempts of the account that are no longer in progress. Never rejects because of
 * the server.
 */
export async function settleUploads(context: UploadContext): Promise<SettledUploads> {
  const { prefix, slots } = keptAttempts(context)
  const run = running.get(prefix) || settleAll(slots()).finally(() => running.delete(prefix))
  running.set(prefix, run)
  return run
}

async function settleAll(slots: readonly Slot[]): Promise<SettledUploads> {
  const counts = { confirmed: 0, ended: 0, kept: 0 }
  for (const outcome of await Promise.all(slots.map(settleSlot))) counts[outcome] += 1
  return counts
}

async function settleSlot(slot: Slot): Promise<keyof SettledUploads> {
  const attempt = slot.read()
  if (!attempt) {
    slot.clear()
    return 'ended'
  }
  if (!attempt.aborted) {
    if (await mayBeInProgress(slot, attempt)) return 'kept'
    try {
      await attemptCalls(slot.request, attempt).finish(END_LIMIT)
      slot.clear()
      return 'confirmed'
    } catch (error) {
      if (isGone(error) && slot.isCurrent()) {
        slot.clear()
        return 'ended'
      }
      const isIncomplete = isCode(error, 'UPLOAD_MISMATCH') || isCode(error, 'QUOTA_EXCEEDED')
      if (!isIncomplete || attempt.identity) return 'kept'
    }
  }
  const object = await inOneTab(slot, () => endAttempt(slot, attempt))
  return object ? 'confirmed' : slot.read() ? 'kept' : 'ended'
}

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
