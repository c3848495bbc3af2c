// What runs beside a server, without a request: an event handler, the delivery of missed events, and the clean-up.
import { createHash } from 'node:crypto'
import { clearInterval, setInterval } from 'node:timers'
import { cleanUp, deliverEvents, StorageError } from '@svc/db'

const cleanUpEveryMilliseconds = 5 * 60_000

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

/** Starts the jobs of a server. The returned function stops them and resolves once they have ended. */
export function startJobs(s3) {
  const stopping = new AbortController()
  // Retries handlers that have failed, and delivers what a killed process left behind.
  const delivering = deliverEvents(s3, { pollSeconds: 5, signal: stopping.signal })

  let cleaning = null
  const tidyUp = () => {
    // Skips a run while the previous one is still going.
    cleaning ??= cleanUp(s3)
      .catch((error) => console.error('cleanUp:', error))
      .finally(() => (cleaning = null))
  }
  tidyUp()
  const timer = setInterval(tidyUp, cleanUpEveryMilliseconds)

  return async () => {
    clearInterval(timer)
    stopping.abort()
    await Promise.all([delivering, cleaning])
  }
}
