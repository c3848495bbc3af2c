import { StorageError } from '../../core/errors.js'
import type { StoredBytes } from '../../core/object-storage.js'
import type { RecordKeeper } from '../../core/plugin.js'
import type { ErrorContext } from '../../core/reporter.js'
import type { StorageObject } from '../../core/store/records.js'
import { bytesOf, matchesRequest, removeBytes, type SignalSource } from '../record-bytes.js'
import type { ServerDependencies } from '../server-dependencies.js'

/**
 * Confirms an attempt if the stored bytes match its upload request. Continues after the client disconnects, because the upload is
 * finished; only `stop` ends it.
 *
 * @throws StorageError `UPLOAD_MISMATCH`. If nothing is stored yet, the reservation stays. If other bytes are stored, the
 * attempt is released and its bytes are removed.
 */
export async function confirmUpload(
  dependencies: ServerDependencies,
  row: StorageObject,
  context: ErrorContext,
  stop?: SignalSource,
): Promise<StorageObject> {
  const { storage, records } = dependencies
  const stored = await storage.head(bytesOf(row, stop))
  if (stored === null) throw mismatch('Nothing has been uploaded yet.')
  if (matchesRequest(row, stored)) return confirmMatching(records, row, stored, context.request)

  // The row goes first. Once the attempt has ended it can no longer be confirmed, so its bytes can't be in use.
  const { bucket, key, id, scope } = row
  const ended = await records.objects.release({ bucket, key, id, scope })
  if (ended) await removeBytes(dependencies, ended, context)
  throw mismatch('The uploaded bytes do not match the upload request. Start a new upload.')
}

/**
 * Records an attempt as an object, for stored bytes that match its upload request.
 * @throws StorageError `OBJECT_NOT_FOUND` if the attempt has ended in the meantime.
 */
export function confirmMatching(
  records: RecordKeeper,
  { bucket, key, id, scope }: StorageObject,
  { size, eTag }: StoredBytes,
  request?: Request,
): Promise<StorageObject> {
  return records.confirm({ bucket, key, id, scope, size, eTag }, request)
}

export function mismatch(message: string): StorageError {
  return new StorageError('UPLOAD_MISMATCH', { message })
}
