import { limited } from '../call-options.js'
import { isCode, responseError, S3ClientError } from '../client-error.js'
import type { AttemptCalls, SignedPart, StoredParts } from './attempt-calls.js'
import { hasStatus, isTransient, retry } from './retry.js'
import type { Transfer } from './transfer.js'

/** Parts sent at once. Leaves two of a browser's six connections per host. */
const CONCURRENCY = 4

/** URLs requested at once. Few, because on a slow connection the last one could expire before its part is sent. */
const URL_BATCH_SIZE = 8

/** Sends the missing parts, several at once, and retries failed ones. Rejects once all retries of a part have failed. */
export async function sendParts(
  sign: AttemptCalls['sign'],
  { file, put, progress, phase, signal }: Transfer,
  { partSize, sizes }: StoredParts,
): Promise<void> {
  const count = Math.ceil(file.size / partSize)
  const sliceOf = (part: number) => file.slice((part - 1) * partSize, part * partSize)
  const missing: number[] = []
  const sent = new Map(sizes)
  for (let part = 1; part <= count; part++) {
    if (sizes.get(part) === sliceOf(part).size) continue
    missing.push(part)
    sent.set(part, 0)
  }
  const urls = new Map<number, Promise<readonly SignedPart[]>>()

  // Stops all parts on the caller's signal, and when one part has finally failed.
  await limited({ signal }, async (stopped) => {
    report()
    await Promise.all(Array.from({ length: CONCURRENCY }, () => sendNextParts(stopped)))
  })

  async function sendNextParts(stopped: AbortSignal): Promise<void> {
    for (let part = missing.shift(); part; part = missing.shift()) await sendPart(part, stopped)
  }

  async function sendPart(part: number, stopped: AbortSignal): Promise<void> {
    const slice = sliceOf(part)
    const reportPart = (bytes: number) => {
      sent.set(part, Math.min(bytes, slice.size))
      report()
    }
    let url: string | undefined
    const send = async () => {
      // Each retry gets a new URL, because the previous one may have expired.
      url = undefined
      url = await urlOf(part, stopped)
      await put({ method: 'PUT', url, headers: {} }, { file: slice, progress: reportPart, signal: stopped })
      reportPart(slice.size)
    }
    // Any refusal by the bucket may pass: 403 is an expired URL, 409 another writer. 404: the upload was aborted or completed.
    await retry(
      send,
      { signal: stopped, phase },
      (error) =>
        isTransient(error) ||
        (url
          ? error instanceof S3ClientError && !hasStatus(error, 404)
          : isCode(error, 'UNEXPECTED_RESPONSE')),
    )
  }

  async function urlOf(part: number, stopped: AbortSignal): Promise<string> {
    if (!urls.has(part)) {
      const parts = [part, ...missing.slice(0, URL_BATCH_SIZE - 1).filter((other) => !urls.has(other))]
      const signed = sign(parts, stopped)
      for (const each of parts) urls.set(each, signed)
    }
    const signed = urls.get(part)!
    urls.delete(part)
    const found = (await signed).find(({ partNumber }) => partNumber === part)
    if (!found) throw responseError(200, '')
    return found.url
  }

  function report(): void {
    let loaded = 0
    for (const size of sent.values()) loaded += size
    progress(loaded)
  }
}
