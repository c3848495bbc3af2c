import type { DbClientObject } from '../../core/store/records.js'
import { isCode, S3ClientError } from '../client-error.js'
import { attemptCalls, type StartedInOnePut } from './attempt-calls.js'
import { endOnFailure } from './end-attempt.js'
import type { KeptAttempts } from './kept-attempts.js'
import { retry } from './retry.js'
import { newAttempts, startAttempt } from './start-attempt.js'
import { throwIfAborted, type Transfer, type UploadContext } from './transfer.js'
import { choosePut } from './transport.js'

/** Starts an upload, sends the file with one signed PUT, and has the server confirm it. */
export function uploadInOnePut(
  { request, fetch }: UploadContext,
  transfer: Transfer,
  kept: KeptAttempts,
): Promise<DbClientObject> {
  const { uploadRequest: body, phase, signal } = transfer
  return newAttempts(kept, async (slot) => {
    const { object, upload } = await startAttempt(transfer, (delayed) =>
      request<StartedInOnePut>('POST', '/upload', { body, answer: 'upload', signal: delayed }),
    )
    // By the server's own clock, because this browser's may be wrong.
    const lifetime = Date.parse(upload.expiresAt) - Date.parse(object.createdAt)
    const attempt = { ...object, until: Date.now() + lifetime }
    slot.write(attempt)
    const waits = phase.waits()
    try {
      return await endOnFailure(sendAndConfirm, { request, kept, slot, attempt, transfer })
    } catch (error) {
      // The browser was offline while the bytes were sent, so a new attempt has to send them.
      if (isCode(error, 'NETWORK_ERROR') && phase.waits() > waits) return undefined
      throw error
    }

    async function sendAndConfirm(): Promise<DbClientObject> {
      throwIfAborted(signal)
      const failure = await choosePut(fetch)(upload, transfer).catch((error: unknown) => {
        if (error instanceof S3ClientError && isInconclusive(error)) return error
        throw error
      })
      throwIfAborted(signal)
      if (!failure) phase.enter('confirming')
      try {
        return await retry(() => attemptCalls(request, object).finish(signal), transfer)
      } catch (error) {
        throw failure || error
      }
    }
  })
}

/**
 * Returns whether the bytes may have been stored in spite of the error: the response was lost, or the browser sent the request
 * twice and the bucket refused the repetition.
 */
function isInconclusive({ status, code }: S3ClientError): boolean {
  return status === undefined ? code === 'NETWORK_ERROR' : status === 409 || status === 412 || status >= 500
}
