import { S3ClientError, throwIfAborted, unexpectedResponse } from '../client-error.js'
import type { MultipartCalls, Signal, StoredParts } from './multipart-calls.js'
import { isTransient, retry } from './retry.js'
import type { ReportSent } from './transfer.js'
import type { PutBytes } from './transport.js'

/** Parts sent at once. Leaves two of a browser's six connections per host. */
const CONCURRENCY = 4

/** URLs requested at once. Few, because on a slow connection the last one could expire before its part is sent. */
const URL_BATCH_SIZE = 8

export interface PartsToSend {
  readonly file: Blob
  readonly stored: StoredParts
  readonly put: PutBytes
  readonly progress: ReportSent
  readonly signal?: Signal
}

/** Sends the missing parts, several at once, and retries failed ones. Rejects once all retries of a part have failed. */
export async function sendParts(
  { sign }: Pick<MultipartCalls, 'sign'>,
  { file, stored, put, progress, signal }: PartsToSend,
): Promise<void> {
  const { partSize, sizes } = stored
  const count = Math.max(1, Math.ceil(file.size / partSize))
  const sliceOf = (part: number) => file.slice((part - 1) * partSize, part * partSize)
  const all = Array.from({ length: count }, (_, index) => index + 1)
  const missing = all.filter((part) => sizes.get(part) !== sliceOf(part).size)
  const sent = new Map(sizes)
  for (const part of missing) sent.set(part, 0)
  const urls = new Map<number, Promise<string | undefined>>()

  // Stops all parts on the caller's signal, and when one part has finally failed.
  const stopped = new AbortController()
  const stop = () => stopped.abort(signal?.reason)
  const failures: unknown[] = []
  signal?.addEventListener('abort', stop)
  try {
    throwIfAborted(signal)
    report()
    await Promise.all(Array.from({ length: CONCURRENCY }, sendNextParts))
  } finally {
    signal?.removeEventListener('abort', stop)
  }
  if (failures.length > 0) throw failures[0]

  async function sendNextParts(): Promise<void> {
    for (let part = missing.shift(); part !== undefined && failures.length === 0; part = missing.shift()) {
      try {
        await sendPart(part)
      } catch (error) {
        failures.push(error)
        stop()
      }
    }
  }

  async function sendPart(part: number): Promise<void> {
    const slice = sliceOf(part)
    const send = async () => {
      const url = await urlOf(part)
      throwIfAborted(stopped.signal)
      const reportPart: ReportSent = (bytes) => {
        sent.set(part, Math.min(bytes, slice.size))
        report()
      }
      const status = await put(
        { method: 'PUT', url, headers: {} },
        { file: slice, progress: reportPart, signal: stopped.signal },
      )
      // The upload was aborted or completed.
      if (status === 404)
        throw new S3ClientError('OBJECT_NOT_FOUND', 'The upload no longer exists.', { status })
      if (status >= 300) throw unexpectedResponse(status)
      reportPart(slice.size)
    }
    // Each retry gets a new URL, because the previous one may have expired.
    await retry(send, stopped.signal, isRetryable)
  }

  async function urlOf(part: number): Promise<string> {
    if (!urls.has(part)) {
      const parts = [part, ...missing.slice(0, URL_BATCH_SIZE - 1).filter((other) => !urls.has(other))]
      const signed = sign(parts, stopped.signal)
      for (const each of parts) {
        const url = signed.then((found) => found.get(each))
        // Prevents an unhandled rejection if no part waits for this URL.
        url.catch(() => undefined)
        urls.set(each, url)
      }
    }
    const url = urls.get(part)
    urls.delete(part)
    return (await url) ?? Promise.reject(unexpectedResponse(200))
  }

  function report(): void {
    progress([...sent.values()].reduce((sum, bytes) => sum + bytes, 0))
  }
}

function isRetryable(error: unknown): boolean {
  return isTransient(error) || (error instanceof S3ClientError && error.code === 'UNEXPECTED_RESPONSE')
}
