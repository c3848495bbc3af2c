import { StorageError } from '../../core/errors.js'
import type { StorageObject } from '../../core/store/records.js'
import { confirmAttempt } from './confirm-attempt.js'
import { bytesOf, isAsAnnounced, removeOwnBytes } from '../own-bytes.js'
import type { ServerParts } from '../server-parts.js'

/**
 * Makes an attempt its object if the bucket has what was announced.
 * @throws StorageError `UPLOAD_MISMATCH`: nothing is there yet, and the reservation stays; or something else is there, so
 * that the attempt has ended and its bytes are gone.
 */
export async function confirmStored(
  parts: ServerParts,
  row: StorageObject,
  { request, operation }: { readonly request: Request; readonly operation: string },
): Promise<StorageObject> {
  const { storage, records } = parts
  const stored = await storage.head(bytesOf(row, request.signal))
  if (stored === null) throw mismatch('Nothing has been uploaded yet.')
  if (isAsAnnounced(row, stored)) return confirmAttempt(records, row, stored, request)

  // First the row: once the attempt has ended nobody can confirm it, so its bytes are nobody's.
  const { bucket, key, id, scope } = row
  const ended = await records.objects.release({ bucket, key, id, scope })
  if (ended) await removeOwnBytes(parts, ended, { request, operation })
  throw mismatch('What was uploaded is not what was announced; the upload has to begin anew.')
}

/** What is in the bucket is not what was announced. */
export function mismatch(message: string): StorageError {
  return new StorageError('UPLOAD_MISMATCH', { message })
}
