import { isCode } from '../client-error.js'
import { abortable, withTimeout } from '../call-options.js'
import { attemptCalls } from './attempt-calls.js'
import { END_TIMEOUT, endAttempt, isGone } from './end-attempt.js'
import { inOneTab, mayBeInProgress } from './in-one-tab.js'
import { keptAttempts, type KeptAttempts, type Slot } from './kept-attempts.js'
import type { UploadContext } from './transfer.js'

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

/** Settles the attempts of an account that are no longer in progress. Never rejects because of the server. */
export function settle(context: UploadContext, kept: KeptAttempts): Promise<SettledUploads> {
  const earlier = running.get(kept.prefix)
  if (earlier) return earlier
  const run = settleAll(context, kept).finally(() => running.delete(kept.prefix))
  running.set(kept.prefix, run)
  return run
}

/** Implements `api.settleUploads`. */
export function settleUploads(context: UploadContext, signal: AbortSignal): Promise<SettledUploads> {
  const kept = keptAttempts(context)
  return abortable(signal, () => settle(context, kept))
}

async function settleAll(context: UploadContext, kept: KeptAttempts): Promise<SettledUploads> {
  const counts = { confirmed: 0, ended: 0, kept: 0 }
  await Promise.all(
    kept.slots().map(async (slot) => {
      const outcome = await settleSlot(context, kept, slot)
      counts[outcome] += 1
    }),
  )
  return counts
}

async function settleSlot(
  { request }: UploadContext,
  kept: KeptAttempts,
  slot: Slot,
): Promise<keyof SettledUploads> {
  const attempt = slot.read()
  if (!attempt) {
    slot.clear()
    return 'ended'
  }
  if (!attempt.aborted) {
    if (await mayBeInProgress(slot.name, attempt.until)) return 'kept'
    try {
      await withTimeout({ timeoutSeconds: END_TIMEOUT }, attemptCalls(request, attempt).finish)
      slot.clear()
      return 'confirmed'
    } catch (error) {
      if (isGone(error) && kept.isCurrent()) {
        slot.clear()
        return 'ended'
      }
      const isIncomplete = isCode(error, 'UPLOAD_MISMATCH') || isCode(error, 'QUOTA_EXCEEDED')
      if (!isIncomplete || attempt.identity) return 'kept'
    }
  }
  const object = await inOneTab(slot, () => endAttempt({ request, kept, slot, attempt }))
  return object ? 'confirmed' : slot.read() ? 'kept' : 'ended'
}
