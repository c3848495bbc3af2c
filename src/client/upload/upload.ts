import type { DbClientObject } from '../../core/store/records.js'
import { abortable, withTimeout } from '../call-options.js'
import { isCode, withoutResponse } from '../client-error.js'
import { END_TIMEOUT } from './end-attempt.js'
import { uploadInParts } from './in-parts.js'
import { keptAttempts, type KeptAttempts } from './kept-attempts.js'
import { uploadInOnePut } from './one-put.js'
import { settle } from './settle.js'
import { throwIfAborted, trackPhase, trackProgress, type Transfer, type UploadContext } from './transfer.js'
import { createUploadRequest, type UploadOptions } from './upload-request.js'

export { settleUploads } from './settle.js'
export { unfinishedUploads } from './unfinished.js'

/** Files of this size in bytes or more are uploaded in parts. */
const MULTIPART_MIN_SIZE = 16 * 1024 ** 2

/** Implements `api.upload`. The client loads this chunk with the first upload. */
export async function upload(
  context: UploadContext,
  file: Blob,
  options: UploadOptions,
  signal: AbortSignal,
): Promise<DbClientObject> {
  const kept = keptAttempts(context)
  const uploadRequest = createUploadRequest(file, options)
  const progress = trackProgress(file.size, options.onProgress)
  let hasLeft = false
  return new Promise((resolve, reject) => {
    const leave = () => {
      const error = withoutResponse(signal)
      if (!isCode(error, 'TIMEOUT')) return
      hasLeft = true
      reject(error)
    }
    const transfer = { file, uploadRequest, progress, phase: trackPhase(options.onState), signal, leave }
    run(context, transfer, kept)
      .then((object) => {
        if (!hasLeft) progress(Infinity)
        resolve(object)
      })
      .catch((error: unknown) => {
        // After an abort, any failure is reported as the abort.
        reject(signal.aborted ? withoutResponse(signal) : (error as Error))
      })
  })
}

async function run(context: UploadContext, transfer: Transfer, kept: KeptAttempts): Promise<DbClientObject> {
  const { file, signal } = transfer
  const settleOthers = async () => {
    const limit = { signal, timeoutSeconds: END_TIMEOUT }
    await withTimeout(limit, (stop) => abortable(stop, () => settle(context, kept))).catch(() => undefined)
    throwIfAborted(signal)
  }
  throwIfAborted(signal)
  if (file.size < MULTIPART_MIN_SIZE) {
    await settleOthers()
  } else {
    try {
      return await uploadInParts(context, transfer, kept, settleOthers)
    } catch (error) {
      // The path is unknown, because multipart uploads are turned off at the server.
      if (!isCode(error, 'NOT_FOUND')) throw error
    }
  }
  return uploadInOnePut(context, transfer, kept)
}
