import type { DbClientObject } from '../../core/store/records.js'
import { isCode, type S3ClientError } from '../client-error.js'
import {
  attemptCalls,
  conclude,
  END_LIMIT,
  isGone,
  newAttempts,
  skewOf,
  type StartedInOnePut,
} from './attempt.js'
import type { KeptAttempt } from './kept-attempts.js'
import { inLine } from './line.js'
import { statusOf, isTransient, retry, throwIfAborted } from './retry.js'
import type { Transfer } from './transfer.js'

/**
 * Starts an upload, sends the file with one signed PUT, and has the server confirm it. If the bucket refuses the URL, which may have
 * expired, does all of it once more.
 */
export function uploadInOnePut(transfer: Transfer): Promise<DbClientObject> {
  const { phase, signal, put, traffic } = transfer
  let isFirst = true
  return newAttempts<StartedInOnePut>(transfer, '/upload', async (slot, { object, upload }) => {
    const until = Date.parse(upload.expiresAt) + skewOf(object)
    const attempt: KeptAttempt = { object, until, digests: [] }
    slot.write(attempt)
    const isExpired = () => until < Date.now()
    const bytes = {
      ...transfer,
      sent() {
        attempt.sent = true
        slot.write(attempt)
      },
    }
    let isRefused = false

    const send = async () => {
      let object: DbClientObject | undefined
      const failure = await retry(
        () => inLine(traffic.puts, transfer, signal, () => put(upload, bytes)),
        transfer,
        async (error, failures) => {
          // The bytes may have arrived, if only the response can't be read.
          if (failures === 2 && isCode(error, 'NETWORK_ERROR')) {
            object = await attemptCalls(slot, attempt)
              .finish({ ...END_LIMIT, signal })
              .catch(() => undefined)
          }
          return !object && !isExpired() && (isTransient(error) || statusOf(error) === 409)
        },
      ).catch((error: unknown) => {
        if (!isInconclusive(error)) throw error
        return error
      })
      if (object) return object
      throwIfAborted(signal)
      // The bucket has an object here, and only this upload can have written it.
      const isStored = !failure || statusOf(failure) === 412
      if (isStored) {
        // Nothing tells that an empty body was sent.
        attempt.sent = true
        phase.enter('confirming')
      }
      let mismatch: unknown
      try {
        return await retry(
          () => attemptCalls(slot, attempt).finish(transfer),
          transfer,
          (error, failures) => {
            // Some buckets show new bytes late.
            if (isCode(error, 'UPLOAD_MISMATCH')) return !!(mismatch = error) && isStored && failures < 5
            return isTransient(error) && (isStored || failures < 2 || !isCode(error, 'STORAGE_UNAVAILABLE'))
          },
        )
      } catch (error) {
        isRefused =
          isFirst &&
          (isCode(error, 'UPLOAD_MISMATCH') || isGone(error)) &&
          // What was silent until the time limit is no refusal that the browser hides.
          (isExpired() ||
            statusOf(failure) === 403 ||
            (isCode(failure, 'NETWORK_ERROR') && !isCode(failure.cause, 'TIMEOUT')))
        // The API's own refusal follows from an earlier failure.
        const isOwn = statusOf(error) && !isCode(error, 'UNEXPECTED_RESPONSE', 'UPLOAD_REJECTED')
        throw (isOwn && (failure || mismatch)) || error
      }
    }
    try {
      return await conclude(transfer, slot, attempt, send)
    } catch (error) {
      if (!isRefused || signal.aborted) throw error
      isFirst = false
      return undefined
    }
  })
}

/** Returns whether the bucket may have the bytes in spite of the error, as after a lost response. */
function isInconclusive(error: unknown): error is S3ClientError {
  return isTransient(error) || [403, 409, 412].includes(statusOf(error))
}
