import type { DbClientObject } from '../../core/store/records.js'
import { limited } from '../call-options.js'
import { isCode } from '../client-error.js'
import { END_LIMIT } from './attempt.js'
import { uploadInParts } from './in-parts.js'
import { keptAttempts } from './kept-attempts.js'
import { uploadInOnePut } from './one-put.js'
import { throwIfAborted } from './retry.js'
import { trackPhase, trackProgress, type Transfer } from './transfer.js'
import { choosePut } from './transport.js'
import { settleUploads } from './unfinished.js'
import { createUploadRequest, type UploadCall } from './upload-request.js'

export { settleUploads, unfinishedUploads } from './unfinished.js'

/** Files of this size in bytes or more are uploaded in parts. */
const MULTIPART_MIN_SIZE = 16 * 1024 ** 2

/**
 * Implements `api.upload`. After a timeout, rejects by `leave` while it still ends the attempt. The client loads this chunk
 * with the first upload.
 */
export async function upload(call: UploadCall, file: Blob): Promise<DbClientObject> {
  const { options, signal, leave } = call
  const isTimedOut = () => isCode(signal.reason, 'TIMEOUT')
  const uploadRequest = createUploadRequest(file, options)
  const progress = trackProgress(uploadRequest.size, options.onProgress)
  try {
    const object = await run({
      ...call,
      kept: keptAttempts(call),
      put: choosePut(call),
      file,
      uploadRequest,
      progress,
      phase: trackPhase(options.onState),
      leave: () => {
        if (isTimedOut()) leave(signal.reason)
      },
    })
    if (!isTimedOut()) progress(Infinity)
    return object
  } catch (error) {
    // After an abort, any failure is reported as the abort.
    throwIfAborted(signal)
    throw error
  }
}

async function run(transfer: Transfer): Promise<DbClientObject> {
  const { file, signal } = transfer
  const settleOthers = async () => {
    await limited({ ...END_LIMIT, signal }, () => settleUploads(transfer)).catch(() => undefined)
    throwIfAborted(signal)
  }
  if (file.size < MULTIPART_MIN_SIZE) {
    await settleOthers()
  } else {
    try {
      return await uploadInParts(transfer, settleOthers)
    } catch (error) {
      // The path is unknown, because multipart uploads are turned off at the server.
      if (!isCode(error, 'NOT_FOUND')) throw error
    }
  }
  return uploadInOnePut(transfer)
}
