import type { DbClientObject } from '../../core/store/records.js'
import { isCode, type S3ClientError } from '../client-error.js'
import {
  attemptCalls,
  endOnFailure,
  newAttempts,
  skewOf,
  startAttempt,
  type StartedInOnePut,
} from './attempt.js'
import { hasStatus, isTransient, retry, throwIfAborted } from './retry.js'
import type { Transfer } from './transfer.js'

/** Starts an upload, sends the file with one signed PUT, and has the server confirm it. */
export function uploadInOnePut(transfer: Transfer): Promise<DbClientObject> {
  const { request, phase, signal } = transfer
  return newAttempts(transfer, async (slot) => {
    const { object, upload } = await startAttempt<StartedInOnePut>(transfer, slot, '/upload')
    const attempt = { object, until: Date.parse(upload.expiresAt) + skewOf(object) }
    slot.write(attempt)
    const waits = phase.waits()
    const send = async () => {
      const failure = await transfer.put(upload, transfer).catch((error: unknown) => {
        if (!isInconclusive(error)) throw error
        return error
      })
      throwIfAborted(signal)
      if (!failure) phase.enter('confirming')
      try {
        return await retry(() => attemptCalls(request, attempt).finish(transfer), transfer)
      } catch (error) {
        throw failure || error
      }
    }
    try {
      return await endOnFailure(send, transfer, slot, attempt)
    } catch (error) {
      // The browser was offline while the bytes were sent, so a new attempt has to send them.
      if (isCode(error, 'NETWORK_ERROR') && phase.waits() > waits) return undefined
      throw error
    }
  })
}

/**
 * Returns whether the bytes may have been stored in spite of the error: the response was lost, or the browser sent the request
 * twice and the bucket refused the repetition.
 */
function isInconclusive(error: unknown): error is S3ClientError {
  return isTransient(error) || hasStatus(error, 409) || hasStatus(error, 412)
}
