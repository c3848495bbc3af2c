import { StorageError } from '../../core/errors.js'
import type { Report } from '../../core/reporter.js'
import { waitUntilAborted, type LinkedAbort } from './linked-abort.js'

/**
 * Returns the stream of a storage as the body of `files.get`. It fails with the reason of an abort, and with
 * `STORAGE_UNAVAILABLE` if the storage breaks off.
 */
export function openBody(
  stream: ReadableStream<Uint8Array>,
  { signal, unlink }: LinkedAbort,
  report: Report,
): ReadableStream<Uint8Array> {
  const reader = stream.getReader()
  const waitFor = waitUntilAborted(signal)
  const cancel = (reason: unknown) => {
    unlink()
    return reader.cancel(reason)
  }
  // Also while nothing reads the body, because it holds a connection open.
  signal.addEventListener('abort', () => void cancel(signal.reason).catch(() => undefined), { once: true })

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = await waitFor(reader.read())
          signal.throwIfAborted()
          if (!next.done) return controller.enqueue(next.value)
          unlink()
          controller.close()
        } catch (error) {
          unlink()
          if (signal.aborted) throw error
          const failure = new StorageError('STORAGE_UNAVAILABLE', { cause: error })
          report(failure, { operation: 'files.get' })
          throw failure
        }
      },
      cancel,
    },
    { highWaterMark: 0 },
  )
}
