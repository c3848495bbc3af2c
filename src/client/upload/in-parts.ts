import type { DbClientObject } from '../../core/store/records.js'
import { isCode } from '../client-error.js'
import { attemptCalls, type AttemptCalls, type StartedInParts, type StoredParts } from './attempt-calls.js'
import { isGone } from './end-attempt.js'
import { identityOf } from './identity.js'
import { inOneTab } from './in-one-tab.js'
import type { KeptAttempt, Slot } from './kept-attempts.js'
import { hasStatus, isTransient, retry } from './retry.js'
import { sendParts } from './send-parts.js'
import { endOnFailure, newAttempts, startAttempt } from './start-attempt.js'
import type { Transfer } from './transfer.js'

/** How long the first URLs of an upload may take, in milliseconds. */
const UNTIL_SIGNED = 60_000

/**
 * Starts a multipart upload, or resumes one that a reload or a lost network has interrupted, and has the server complete
 * it. Rejects with `NOT_FOUND` without having started anything if multipart uploads are turned off at the server.
 */
export async function uploadInParts(
  transfer: Transfer,
  settleOthers: () => Promise<void>,
): Promise<DbClientObject> {
  const { file, uploadRequest, kept } = transfer
  const identity = identityOf(file, uploadRequest)
  for (const slot of kept.slots()) {
    const attempt = slot.read()
    if (!identity || !attempt || attempt.identity !== identity || attempt.aborted) continue
    // First of all, so that settling the others neither completes nor ends this one.
    const object = await inOneTab(slot, async () => {
      // Another tab may have ended it meanwhile.
      if (!slot.read()) return undefined
      await settleOthers()
      return finish(transfer, slot, attempt).catch((error: unknown) => {
        if (!isGone(error)) throw error
        return undefined
      })
    })
    if (object) return object
  }
  await settleOthers()
  return newAttempts(transfer, async (slot) => {
    const { object, uploadId, partSize } = await startAttempt<StartedInParts>(transfer, slot, '/multipart')
    const attempt = { object, uploadId, identity, until: Date.now() + UNTIL_SIGNED }
    slot.write(attempt)
    return finish(transfer, slot, attempt, { partSize, sizes: new Map() })
  })
}

/** Sends the missing parts and completes the upload. Rejects with `OBJECT_NOT_FOUND` if the server doesn't know it. */
function finish(
  transfer: Transfer,
  slot: Slot,
  attempt: KeptAttempt,
  stored?: StoredParts,
): Promise<DbClientObject> {
  const { phase, signal } = transfer
  const calls = attemptCalls(slot.request, attempt)
  const sign: AttemptCalls['sign'] = async (partNumbers, stopped) => {
    const parts = await calls.sign(partNumbers, stopped)
    // The URLs of one call expire together.
    for (const { expiresAt } of parts) slot.write({ ...attempt, until: Date.parse(expiresAt) })
    return parts
  }
  const sendMissing = async (present?: StoredParts) => {
    const found = present || (await retry(() => calls.list(signal), transfer))
    phase.enter('sending')
    await sendParts(sign, transfer, found)
    phase.enter('confirming')
  }
  const complete = () => retry(() => calls.finish(transfer), transfer)
  const send = async () => {
    try {
      await sendMissing(stored)
      return await complete().catch(async (error: unknown) => {
        if (!isCode(error, 'UPLOAD_MISMATCH')) throw error
        // The bucket lost a part that it had accepted.
        await sendMissing()
        return complete()
      })
    } catch (gone) {
      if (!hasStatus(gone, 404) || isCode(gone, 'NOT_FOUND') || signal.aborted) throw gone
      // The upload may be complete: the response to an earlier call was lost, or another tab has completed it.
      return complete().catch((error: unknown) => {
        throw isResumable(error) || isGone(error) ? error : gone
      })
    }
  }
  const isKept = (error: unknown) =>
    // After a timeout, the upload can be resumed.
    !!attempt.identity && isResumable(error) && (!signal.aborted || isCode(signal.reason, 'TIMEOUT'))
  return endOnFailure(send, transfer, slot, attempt, isKept)
}

/** Returns whether the upload can be resumed once the network, the server or the session is back. */
function isResumable(error: unknown): boolean {
  return isTransient(error) || hasStatus(error, 401)
}
