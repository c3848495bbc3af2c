import type { DbClientObject } from '../../core/store/records.js'
import { limited } from '../call-options.js'
import { isCode, S3ClientError } from '../client-error.js'
import {
  attemptCalls,
  type AttemptCalls,
  conclude,
  isGone,
  isOwn,
  newAttempts,
  skewOf,
  type SignedPart,
  startAttempt,
  type StartedInParts,
  type StoredParts,
} from './attempt.js'
import { inOneTab, type KeptAttempt, type Slot } from './kept-attempts.js'
import { statusOf, isTransient, retry } from './retry.js'
import { fourAtOnce, type Transfer } from './transfer.js'
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
        if (!isGone(error) && !isCode(error, 'UPLOAD_MISMATCH')) throw error
        return undefined
      })
    })
    if (object) return object
  }
  await settleOthers()
  return newAttempts(transfer, async (slot) => {
    const { object, uploadId, partSize } = await startAttempt<StartedInParts>(transfer, '/multipart')
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
  const calls = attemptCalls(slot, attempt)
  const sign: AttemptCalls['sign'] = async (partNumbers, stopped) => {
    const parts = await calls.sign(partNumbers, stopped)
    // The URLs of one call expire together.
    for (const { expiresAt } of parts) {
      slot.write({ ...attempt, until: Date.parse(expiresAt) + (attempt.skew || 0) })
    }
    return parts
  }
  const sendMissing = async (present?: StoredParts) => {
    const found = present || (await retry(() => calls.list({ signal }), transfer))
    phase.enter('sending')
    await sendParts(sign, transfer, found)
    phase.enter('confirming')
  }
  const complete = () =>
    retry(
      () => calls.finish(transfer),
      transfer,
      async (error, failures) => {
        if (!isCode(error, 'UPLOAD_MISMATCH')) return isTransient(error)
        // The bucket lost a part that it had accepted, or has put all parts together and shows the file late.
        await sendMissing().catch((gone: unknown) => {
          if (!isGone(gone)) throw gone
        })
        return failures < 5
      },
    )
  const send = async () => {
    try {
      await sendMissing(stored)
      return await complete()
    } catch (gone) {
      if (statusOf(gone) !== 404 || !isOwn(gone) || isCode(gone, 'NOT_FOUND') || signal.aborted) throw gone
      // The upload may be complete: the response to an earlier call was lost, or another tab has completed it.
      return complete()
    }
  }
  return conclude(transfer, slot, attempt, send, (error) => !!attempt.identity && isResumable(error))
}

/** Returns whether the upload can be resumed once the network, the server, the bucket or the session is back. */
function isResumable(error: unknown): boolean {
  return (
    isTransient(error) ||
    isCode(error, 'TIMEOUT') ||
    isCode(error, 'UNEXPECTED_RESPONSE') ||
    statusOf(error) === 401
  )
}

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
    await fourAtOnce(missing, (part) => sendPart(part, stopped))
  })

  async function sendPart(part: number, stopped: AbortSignal): Promise<void> {
    const slice = sliceOf(part)
    const reportPart = (bytes: number) => {
      sent.set(part, Math.min(bytes, slice.size))
      report()
    }
    // Each retry gets a new URL, because the previous one may have expired.
    const send = async () => {
      const url = await urlOf(part, stopped)
      await put({ method: 'PUT', url, headers: {} }, { file: slice, progress: reportPart, signal: stopped })
      reportPart(slice.size)
    }
    // Any refusal by the bucket may pass: 403 is an expired URL, 409 another writer. 404: the upload was aborted or completed.
    await retry(
      send,
      { signal: stopped, phase },
      (error) => isTransient(error) || ((error as S3ClientError).path === null && statusOf(error) !== 404),
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
    if (!found) throw new S3ClientError('UNEXPECTED_RESPONSE', 'A URL is missing.')
    return found.url
  }

  function report(): void {
    let loaded = 0
    for (const size of sent.values()) loaded += size
    progress(loaded)
  }
}
