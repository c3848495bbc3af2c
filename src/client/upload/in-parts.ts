import type { DbClientObject } from '../../core/store/records.js'
import { isCode, S3ClientError, withoutResponse } from '../client-error.js'
import { attemptCalls, type AttemptCalls, type StartedInParts, type StoredParts } from './attempt-calls.js'
import { endOnFailure, isGone } from './end-attempt.js'
import { inOneTab } from './in-one-tab.js'
import type { KeptAttempt, KeptAttempts, Slot } from './kept-attempts.js'
import { isTransient, retry } from './retry.js'
import { identityOf } from './identity.js'
import { sendParts } from './send-parts.js'
import { newAttempts, startAttempt } from './start-attempt.js'
import type { Transfer, UploadContext } from './transfer.js'
import { choosePut } from './transport.js'

/** How long the first URLs of an upload may take, in milliseconds. */
const UNTIL_SIGNED = 60_000

/**
 * Starts a multipart upload, or resumes one that a reload or a lost network has interrupted, and has the server complete
 * it. Rejects with `NOT_FOUND` without having started anything if multipart uploads are turned off at the server.
 */
export async function uploadInParts(
  context: UploadContext,
  transfer: Transfer,
  kept: KeptAttempts,
  settleOthers: () => Promise<void>,
): Promise<DbClientObject> {
  const { file, uploadRequest: body } = transfer
  const identity = identityOf(file, body)
  for (const slot of kept.slots()) {
    const attempt = slot.read()
    if (!identity || !attempt || attempt.identity !== identity || attempt.aborted) continue
    // First of all, so that settling the others neither completes nor ends this one.
    const object = await inOneTab(slot, async () => {
      // Another tab may have ended it meanwhile.
      if (!slot.read()) return undefined
      await settleOthers()
      return finish(context, transfer, kept, slot, attempt, null).catch((error: unknown) => {
        if (!isGone(error) || isAborted(transfer)) throw error
        return undefined
      })
    })
    if (object) return object
  }
  await settleOthers()
  return newAttempts(kept, async (slot) => {
    const { object, uploadId, partSize } = await startAttempt(transfer, (signal) =>
      context.request<StartedInParts>('POST', '/multipart', { body, answer: 'partSize', signal }),
    )
    const attempt = { ...object, uploadId, identity, until: Date.now() + UNTIL_SIGNED }
    slot.write(attempt)
    return finish(context, transfer, kept, slot, attempt, { partSize, sizes: new Map() })
  })
}

/** Sends the missing parts and completes the upload. Rejects with `OBJECT_NOT_FOUND` if the server doesn't know it. */
async function finish(
  { request, fetch }: UploadContext,
  transfer: Transfer,
  kept: KeptAttempts,
  slot: Slot,
  attempt: KeptAttempt,
  stored: StoredParts | null,
): Promise<DbClientObject> {
  const calls = attemptCalls(request, attempt)
  const sign: AttemptCalls['sign'] = async (partNumbers, signal) => {
    const parts = await calls.sign(partNumbers, signal)
    const until = Math.max(...parts.map(({ expiresAt }) => Date.parse(expiresAt)))
    slot.write({ ...attempt, until })
    return parts
  }
  return endOnFailure(
    () => sendAndComplete({ ...calls, sign }, { ...transfer, put: choosePut(fetch) }, stored),
    { request, kept, slot, attempt, transfer },
    (error) => !!attempt.identity && isResumable(error) && !isAborted(transfer),
  )
}

async function sendAndComplete(
  calls: AttemptCalls,
  transfer: Omit<Parameters<typeof sendParts>[1], 'stored'>,
  stored: StoredParts | null,
): Promise<DbClientObject> {
  const { signal, phase } = transfer
  const list = () => retry(() => calls.list(signal), transfer)
  const complete = () => retry(() => calls.finish(signal), transfer)
  const sendAll = async (present: StoredParts) => {
    phase.enter('sending')
    await sendParts(calls, { ...transfer, stored: present })
    phase.enter('confirming')
  }
  try {
    await sendAll(stored || (await list()))
    try {
      return await complete()
    } catch (error) {
      if (!isCode(error, 'UPLOAD_MISMATCH')) throw error
      // The bucket lost a part that it had accepted.
      await sendAll(await list())
      return await complete()
    }
  } catch (gone) {
    const isUnknown = gone instanceof S3ClientError && gone.status === 404 && gone.code !== 'NOT_FOUND'
    if (!isUnknown || signal.aborted) throw gone
    // The upload may be complete: the response to an earlier call was lost, or another tab has completed it.
    return complete().catch((error: unknown) => {
      throw isResumable(error) || isGone(error) ? error : gone
    })
  }
}

/** Returns whether the caller aborted the upload. After a timeout, it can be resumed. */
function isAborted({ signal }: Transfer): boolean {
  return !!signal.aborted && isCode(withoutResponse(signal), 'ABORTED')
}

/** Returns whether the upload can be resumed once the network, the server or the session is back. */
function isResumable(error: unknown): boolean {
  return isTransient(error) || (error instanceof S3ClientError && error.status === 401)
}
