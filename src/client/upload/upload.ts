import type { DbClientObject } from '../../core/records.js'
import { unanswered } from '../client-error.js'
import { announce } from './announcement.js'
import { uploadInOnePut } from './one-put.js'
import { trackProgress } from './progress.js'
import type { UploadContext } from './upload-context.js'
import type { UploadOptions } from './upload-options.js'

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
    return await uploadInOnePut(context, transfer)
  } catch (error) {
    // Whatever an abort made fail, the caller is told of the abort.
    throw signal?.aborted ? unanswered(signal) : error
  }
}
