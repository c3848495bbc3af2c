import type { DbClientObject } from '../../core/store/records.js'
import { type CallOptions, limited } from '../call-options.js'
import { isCode } from '../client-error.js'
import { askChecked } from './ask-checked.js'
import { attemptCalls, END_LIMIT, endAttempt, isGone, isOver, isWhole, loadedOf } from './attempt.js'
import { trafficOf } from './begin.js'
import { checkedUploads, rememberChecked, replaceChecked } from './checked-uploads.js'
import {
  inOneTab,
  type KeptAttempt,
  keptAttempts,
  type KeptAttempts,
  mayBeInProgress,
  resumableIn,
  type Slot,
} from './kept-attempts.js'
import { severalAtOnce } from './transfer.js'
import { createUploadRequest, identityOf, type UploadContext, type UploadOptions } from './upload-request.js'

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

/** What was kept in each slot when the server said that it can be resumed. Lasts as long as the page. */
const resumable = new Map<string, string | null | undefined>()

/**
 * Implements `api.settleUploads`: settles the attempts of the account that are no longer in progress. Never rejects because of
 * the server.
 */
export async function settleUploads(
  context: UploadContext,
  options: CallOptions = {},
): Promise<SettledUploads> {
  return limited(options, async () => settle(keptAttempts(context)))
}

/** Settles all but those that the server has called resumable before. Otherwise, every small file would ask for all of them. */
export function settleChanged(kept: KeptAttempts): Promise<SettledUploads> {
  return settle(kept, true)
}

function settle(kept: KeptAttempts, onlyChanged?: boolean): Promise<SettledUploads> {
  const { prefix, slots } = kept
  const settleAll = async () => {
    const counts = { confirmed: 0, ended: 0, kept: 0 }
    const isWanted = (slot: Slot) => !onlyChanged || resumable.get(slot.name) !== slot.text()
    await severalAtOnce(slots().filter(isWanted), async (slot) => {
      counts[await settleSlot(kept, slot)] += 1
    })
    return counts
  }
  const key = `${onlyChanged}${prefix}`
  const run = running.get(key) || settleAll().finally(() => running.delete(key))
  running.set(key, run)
  return run
}

async function settleSlot(kept: KeptAttempts, slot: Slot): Promise<keyof SettledUploads> {
  const attempt = slot.read()
  if (!attempt) {
    slot.clear()
    return 'ended'
  }
  if (!attempt.aborted) {
    if (await mayBeInProgress(slot, attempt)) return 'kept'
    try {
      const { finish, list } = attemptCalls(slot, attempt)
      // Browsers print refusals as errors, so the server is asked to confirm only what may be complete. An upload in parts that is not
      // known to be the same file in all of them must not be.
      if (isWhole(attempt)) {
        const { checking } = await finish(END_LIMIT)
        slot.clear()
        if (checking) rememberChecked(kept, attempt.identity, attempt)
        return 'confirmed'
      }
      if (attempt.identity) {
        await list(END_LIMIT)
        resumable.set(slot.name, slot.text())
        return 'kept'
      }
    } catch (error) {
      if (isOver(error, attempt) && slot.isCurrent()) {
        slot.clear()
        if (isCode(error, 'UPLOAD_REJECTED')) rememberChecked(kept, attempt.identity, attempt)
        return 'ended'
      }
      if (attempt.identity || !isCode(error, 'UPLOAD_MISMATCH', 'QUOTA_EXCEEDED')) return 'kept'
    }
  }
  const object = await inOneTab(slot, () => endAttempt(slot, attempt))
  return object ? 'confirmed' : slot.read() ? 'kept' : 'ended'
}

/**
 * An interrupted upload, or one that waits for its check (`object.checking`). Uploading the same file with the same options resumes it,
 * or resolves to the object that waits.
 */
export interface UnfinishedUpload {
  readonly filename: string
  /** Bytes of the whole file. */
  readonly size: number
  /** Bytes that the bucket already has, as far as this browser knows. */
  readonly loaded: number
  /** The pending object, as it was when the upload started, or with `checking` once its bytes have arrived. */
  readonly object: DbClientObject
  /**
   * Ends the upload, which releases its quota. If the server can't be reached, a later upload or `settleUploads()` does. Does
   * nothing if the upload has been resumed.
   */
  readonly discard: (options?: CallOptions) => Promise<void>
}

/**
 * Implements `api.unfinishedUploads`: returns the attempts that can be resumed, and those that wait for their check, oldest first.
 */
export async function unfinishedUploads(
  context: UploadContext,
  options: CallOptions = {},
): Promise<UnfinishedUpload[]> {
  return limited(options, async (signal) => {
    const found: UnfinishedUpload[] = []
    const kept = keptAttempts(context)
    await severalAtOnce(checkedUploads(kept), async (upload) => {
      const object = await askChecked(context, kept, upload, { signal }).catch(unlessRejected)
      if (!object) return
      const { filename, size } = object as Required<DbClientObject>
      const discard = async (options: CallOptions = {}) => {
        await limited(options, () => endAttempt(kept.newSlot(), { object, until: 0, digests: [] }))
        replaceChecked(kept, object.id)
      }
      found.push({ filename, size, loaded: size, object, discard })
    })
    await severalAtOnce(kept.slots(), async (slot) => {
      const attempt = slot.read()
      if (!attempt || !attempt.identity || attempt.aborted || (await mayBeInProgress(slot, attempt))) return
      try {
        await attemptCalls(slot, attempt).list({ signal })
      } catch (error) {
        // It has lapsed, or another tab has completed it. `settle` finds out which.
        if (isGone(error)) return
        throw error
      }
      const { object } = attempt
      const discard = async (options: CallOptions = {}) => {
        await limited(options, () => endKept(slot, attempt))
      }
      // The client sends both with each upload.
      const { filename, declaredSize: size } = object as Required<DbClientObject>
      found.push({ filename, size, loaded: loadedOf(attempt), object, discard })
    })
    return found.sort((one, other) => (one.object.id < other.object.id ? -1 : 1))
  })
}

/** Ignores that an upload has failed its check. */
function unlessRejected(error: unknown): undefined {
  if (!isCode(error, 'UPLOAD_REJECTED')) throw error
}

/** Ends an attempt, unless it is over, or an upload or another tab works on it. */
function endKept(slot: Slot, attempt: KeptAttempt): Promise<unknown> {
  return inOneTab(slot, async () => slot.read() && endAttempt(slot, attempt))
}

/**
 * Ends the attempts that uploading a file would resume, which a paused upload has kept. Later uploads wait for it, because it releases
 * quota. If the server can't be reached, one of them repeats it.
 */
export async function discardUpload(
  context: UploadContext,
  file: Blob,
  options: UploadOptions,
): Promise<void> {
  const { cancelled } = trafficOf(context)
  const identity = identityOf(file, createUploadRequest(file, options))
  const before = Promise.all(cancelled)
  const discard = async () => {
    await before
    for (const slot of keptAttempts(context).slots()) {
      const attempt = resumableIn(slot, identity)
      if (attempt) await endKept(slot, attempt)
    }
  }
  const ended = discard()
    .catch(() => {})
    .finally(() => cancelled.delete(ended))
  cancelled.add(ended)
  return ended
}
