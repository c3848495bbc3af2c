import type { RecordKeeper } from '../../core/plugin.js'
import type { StorageObject } from '../../core/store/records.js'
import type { StoredBytes } from '../../core/object-storage.js'

/** Makes an attempt whose bytes were found to be as announced its object. @throws StorageError `OBJECT_NOT_FOUND` if it has ended meanwhile. */
export function confirmAttempt(
  records: RecordKeeper,
  { bucket, key, id, scope }: StorageObject,
  { size, eTag }: StoredBytes,
  request?: Request,
): Promise<StorageObject> {
  return records.confirm({ bucket, key, id, scope, size, eTag }, request)
}
