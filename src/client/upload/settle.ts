import { isCode } from '../client-error.js'
import { attemptCalls } from './attempt-calls.js'
import { END_LIMIT, endAttempt, isGone } from './end-attempt.js'
import { inOneTab, mayBeInProgress } from './in-one-tab.js'
import { keptAttempts, type Slot } from './kept-attempts.js'
import type { UploadContext } from './upload-context.js'

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
