import type { DbClientObject } from '../../core/store/records.js'
import { isCode, withoutResponse } from '../client-error.js'
import { uploadInParts } from './in-parts.js'
import { uploadInOnePut } from './one-put.js'
import { trackProgress, type Transfer, type UploadContext } from './transfer.js'
import { createUploadRequest, type UploadOptions } from './upload-request.js'

/** Files of this size in bytes or more are uploaded in parts. */
const MULTIPART_MIN_SIZE = 16 * 1024 ** 2

/** Implements `api.upload`. The client loads this chunk with the first upload. */
export async function upload(
  context: UploadContext,
  file: Blob,
  options: UploadOptions,
): Promise<DbClientObject> {
  const { signal } = options
  const transfer: Transfer = {
    file,
    uploadRequest: createUploadRequest(file, options),
    progress: trackProgress(file.size, options.onProgress),
    signal,
  }
  try {
    if (file.size >= MULTIPART_MIN_SIZE) {
      try {
        return await uploadInParts(context, transfer)
      } catch (error) {
        // The path is unknown, because multipart uploads are turned off at the server.
        if (!isCode(error, 'NOT_FOUND')) throw error
      }
    }
    return await uploadInOnePut(context, transfer)
  } catch (error) {
    // After an abort, any failure is reported as the abort.
    throw signal?.aborted ? withoutResponse(signal) : error
  }
}
