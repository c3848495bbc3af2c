// An event handler: what runs after a file has changed, without a request.
import { createHash } from 'node:crypto'
import { StorageError } from '@svc/db'

/** Records the SHA-256 of each uploaded file. `onEvent` is for `createS3Server`; `of(object)` returns a checksum. */
export function createChecksums(filesOf) {
  // A table in a real application. By attempt, so a second delivery of the same event changes nothing.
  const checksums = new Map()

  return {
    async onEvent({ type, object }, { signal }) {
      const { bucket, key, attemptId } = object
      if (type === 'deleted') checksums.delete(attemptId)
      // Notes are kept in memory, so only objects with a `storageKey` have bytes in the storage.
      if (type !== 'activated' || !object.storageKey) return
      try {
        const { body } = await filesOf().get({ bucket, key, attemptId, signal })
        const hash = createHash('sha256')
        for await (const bytes of body) hash.update(bytes)
        checksums.set(attemptId, hash.digest('hex'))
      } catch (error) {
        // The file was replaced or deleted since, so a retry can't help. Other errors are retried.
        if (!(error instanceof StorageError && error.code === 'OBJECT_NOT_FOUND')) throw error
      }
    },
    /** Returns null until the event was delivered. */
    of: ({ attemptId }) => checksums.get(attemptId) ?? null,
  }
}
