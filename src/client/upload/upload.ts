import type { DbClientObject } from '../../core/store/records.js'
import { limited } from '../call-options.js'
import { isCode, withoutResponse } from '../client-error.js'
import { checkedBefore } from './ask-checked.js'
import { END_LIMIT } from './attempt.js'
import { beginInLine, trafficOf } from './begin.js'
import { uploadInParts } from './in-parts.js'
import { keptAttempts } from './kept-attempts.js'
import { readWhole } from './read.js'
import { uploadInOnePut } from './one-put.js'
import { retry, throwIfAborted } from './retry.js'
import { trackPhase, trackProgress } from './progress.js'
import { MULTIPART_MIN_SIZE } from './sizes.js'
import { choosePut } from './transport.js'
import { settleChanged } from './unfinished.js'
import { createUploadRequest, identityOf, type UploadContext, type UploadOptions } from './upload-request.js'

export { discardUpload, settleUploads, unfinishedUploads } from './unfinished.js'

/**
 * Implements `api.upload`. The client loads this chunk with the first upload. `owner` was signed in at the call; `undefined`: unknown.
 */
export async function upload(
  context: UploadContext,
  file: Blob,
  options: UploadOptions = {},
  owner?: string | null,
): Promise<DbClientObject> {
  const uploadRequest = createUploadRequest(file, options)
  const progress = trackProgress(uploadRequest.size, options.onProgress)
  const phase = trackPhase(options.onState)
  return beginInLine(context, options, phase, async (signal) => {
    try {
      // A smaller file can be a folder, which browsers only read in vain if all of it is wanted.
      const isSmall = file.size < MULTIPART_MIN_SIZE
      const { filename, contentType } = uploadRequest
      const bytes = await readWhole(isSmall ? file : file.slice(0, 1), filename, contentType)
      const kept = await retry(async () => keptAttempts(context), { signal, phase })
      if (owner !== undefined && kept.account !== owner) throw withoutResponse({ aborted: true })
      const transfer = {
        ...context,
        kept,
        traffic: trafficOf(context),
        put: choosePut(context, file),
        file: isSmall ? bytes : file,
        uploadRequest,
        identity: identityOf(file, uploadRequest),
        progress,
        phase,
        signal,
      }
      // After an abort, what follows ends the upload.
      const settleOthers = async () => {
        await limited({ ...END_LIMIT, signal }, () => settleChanged(kept)).catch(() => {})
      }
      const inParts = async () =>
        uploadInParts(transfer, settleOthers).catch((error: unknown) => {
          // The path is unknown, because multipart uploads are turned off at the server.
          if (!isCode(error, 'NOT_FOUND')) throw error
        })
      const object =
        (await checkedBefore(transfer)) ||
        (await (isSmall ? settleOthers() : inParts())) ||
        (await uploadInOnePut(transfer))
      if (!isCode(signal.reason, 'TIMEOUT')) progress(Infinity)
      return object
    } catch (error) {
      // After an abort, any failure is reported as the abort.
      throwIfAborted(signal)
      throw error
    }
  })
}
