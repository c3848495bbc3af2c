import type { Disposition } from '../../core/object-storage.js'
import { checkInteger, checkOneOf, checkText, optional } from '../../core/store/validation/checks.js'
import { dispositionFor } from '../inline-types.js'
import { LONGEST_URL_SECONDS, secondsAfter } from '../lifetimes.js'
import { bytesOf } from '../record-bytes.js'
import type { ServerDependencies } from '../server-dependencies.js'
import { CallerError } from './caller-error.js'
import { findFile } from './find-file.js'
import type { DownloadURLInput, FileURL } from './inputs.js'

const DISPOSITIONS: readonly Disposition[] = ['attachment', 'inline']

/** Signs a URL for the bytes of an active object, without asking any guard. */
export async function downloadURL(
  dependencies: ServerDependencies,
  input: DownloadURLInput,
): Promise<FileURL> {
  const { storage, now, downloadSeconds } = dependencies
  const { baseURL } = storage
  if (storage.serve && !baseURL) {
    throw new CallerError(
      new TypeError(
        'files.downloadURL: the storage must have a baseURL, because no request shows the address of the server.',
      ),
    )
  }
  const object = await findFile(dependencies, input)
  const seconds = checkInteger('expiresIn', input.expiresIn ?? downloadSeconds, 1, LONGEST_URL_SECONDS)
  const filename = optional(input.filename, (value) => checkText('filename', value))
  const disposition = checkOneOf('disposition', input.disposition ?? 'attachment', DISPOSITIONS)
  const expiresAt = secondsAfter(now(), seconds)
  const { url } = await storage.signDownload({
    ...bytesOf(object),
    filename: filename ?? object.filename ?? object.key,
    contentType: object.contentType,
    disposition: dispositionFor(disposition, object.contentType),
    expiresAt,
    serverURL: baseURL ?? '',
  })
  return { url, expiresAt, object }
}
