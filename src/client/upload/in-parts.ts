import type { DbClientObject } from '../../core/store/records.js'
import { limited } from '../call-options.js'
import { isCode, responseError, S3ClientError } from '../client-error.js'
import {
  attemptCalls,
  type AttemptCalls,
  endOnFailure,
  isGone,
  newAttempts,
  skewOf,
  type SignedPart,
  startAttempt,
  type StartedInParts,
  type StoredParts,
} from './attempt.js'
import { inOneTab, type KeptAttempt, type Slot } from './kept-attempts.js'
import { hasStatus, isTransient, retry } from './retry.js'
import type { Transfer } from './transfer.js'
import { identityOf } from './upload-request.js'

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
    const attempt = { object, uploadId, identity, skew: skewOf(object), until: Date.now() + UNTIL_SIGNED }
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
    for (const { expiresAt } of parts) {
      slot.write({ ...attempt, until: Date.parse(expiresAt) + (attempt.skew || 0) })
    }
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

/** Parts sent at once. Leaves two of a browser's six connections per host. */
const CONCURRENCY = 4

/** URLs requested at once. Few, because on a slow connection the last one could expire before its part is sent. */
const URL_BATCH_SIZE = 8

/** Sends the missing parts, several at once, and retries failed ones. Rejects once all retries of a part have failed. */
async function sendParts(
  sign: AttemptCalls['sign'],
  { file, put, progress, phase, signal }: Transfer,
  { partSize, sizes }: StoredParts,
): Promise<void> {
  const count = Math.ceil(file.size / partSize)
  const sliceOf = (part: number) => file.slice((part - 1) * partSize, part * partSize)
  const missing: number[] = []
  const sent = new Map(sizes)
  for (let part = 1; part <= count; part++) {
    if (sizes.get(part) === sliceOf(part).size) continue
    missing.push(part)
    sent.set(part, 0)
  }
  const urls = new Map<number, Promise<readonly SignedPart[]>>()

  // Stops all parts on the caller's signal, and when one part has finally failed.
  await limited({ signal }, async (stopped) => {
    report()
    await Promise.all(Array.from({ length: CONCURRENCY }, () => sendNextParts(stopped)))
  })

  async function sendNextParts(stopped: AbortSignal): Promise<void> {
    for (let part = missing.shift(); part; part = missing.shift()) await sendPart(part, stopped)
  }

  async function sendPart(part: number, stopped: AbortSignal): Promise<void> {
    const slice = sliceOf(part)
    const reportPart = (bytes: number) => {
      sent.set(part, Math.min(bytes, slice.size))
      report()
    }
    let url: string | undefined
    const send = async () => {
      // Each retry gets a new URL, because the previous one may have expired.
      url = undefined
      url = await urlOf(part, stopped)
      await put({ method: 'PUT', url, headers: {} }, { file: slice, progress: reportPart, signal: stopped })
      reportPart(slice.size)
    }
    // Any refusal by the bucket may pass: 403 is an expired URL, 409 another writer. 404: the upload was aborted or completed.
    await retry(
      send,
      { signal: stopped, phase },
      (error) =>
        isTransient(error) ||
        (url
          ? error instanceof S3ClientError && !hasStatus(error, 404)
          : isCode(error, 'UNEXPECTED_RESPONSE')),
    )
  }

  async function urlOf(part: number, stopped: AbortSignal): Promise<string> {
    if (!urls.has(part)) {
      const parts = [part, ...missing.slice(0, URL_BATCH_SIZE - 1).filter((other) => !urls.has(other))]
      const signed = sign(parts, stopped)
      for (const each of parts) urls.set(each, signed)
    }
    const signed = urls.get(part)!
    urls.delete(part)
    const found = (await signed).find(({ partNumber }) => partNumber === part)
    if (!found) throw responseError(200, '')
    return found.url
  }

  function report(): void {
    let loaded = 0
    for (const size of sent.values()) loaded += size
    progress(loaded)
  }
}
