import type { DbClientObject } from '../../core/store/records.js'
import { isCode, unanswered } from '../client-error.js'
import { announce } from './announcement.js'
import { uploadInParts } from './in-parts.js'
import { uploadInOnePut } from './one-put.js'
import { trackProgress } from './progress.js'
import type { UploadContext } from './upload-context.js'
import type { UploadOptions } from './upload-options.js'

/** From this size on, in bytes, a file travels in parts. */
const IN_PARTS_FROM = 16 * 1024 ** 2

/** `api.upload`: a chunk of its own, loaded when it is first used. How a file travels is chosen here and nowhere else. */
export async function upload(
  context: UploadContext,
  file: Blob,
  options: UploadOptions,
): Promise<DbClientObject> {
  const { signal } = options
  const transfer = {
    file,
    announcement: announce(file, options),
    progress: trackProgress(file.size, options.onProgress),
    signal,
  }
  try {
    if (file.size >= IN_PARTS_FROM) {
      try {
        return await uploadInParts(context, transfer)
      } catch (error) {
        // An unknown path: the server has no uploads in parts.
        if (!isCode(error, 'NOT_FOUND')) throw error
      }
    }
    return await uploadInOnePut(context, transfer)
  } catch (error) {
    // Whatever an abort made fail, the caller is told of the abort.
    throw signal?.aborted ? unanswered(signal) : error
  }
}
