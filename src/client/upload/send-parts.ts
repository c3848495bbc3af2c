import { withTimeout } from '../call-options.js'
import { isCode, responseError, S3ClientError } from '../client-error.js'
import type { AttemptCalls, SignedPart, StoredParts } from './attempt-calls.js'
import { isTransient, retry } from './retry.js'
import { throwIfAborted, type ReportSent, type Transfer } from './transfer.js'
import type { PutBytes } from './transport.js'

/** Parts sent at once. Leaves two of a browser's six connections per host. */
const CONCURRENCY = 4

/** URLs requested at once. Few, because on a slow connection the last one could expire before its part is sent. */
const URL_BATCH_SIZE = 8

export interface PartsToSend extends Pick<Transfer, 'file' | 'progress' | 'phase' | 'signal'> {
  readonly stored: StoredParts
  readonly put: PutBytes
}

/** Sends the missing parts, several at once, and retries failed ones. Rejects once all retries of a part have failed. */
export async function sendParts(
  { sign }: Pick<AttemptCalls, 'sign'>,
  { file, stored, put, progress, phase, signal }: PartsToSend,
): Promise<void> {
  const { partSize, sizes } = stored
  const count = Math.max(1, Math.ceil(file.size / partSize))
  const sliceOf = (part: number) => file.slice((part - 1) * partSize, part * partSize)
  const all = Array.from({ length: count }, (_, index) => index + 1)
  const missing = all.filter((part) => sizes.get(part) !== sliceOf(part).size)
  const sent = new Map(sizes)
  for (const part of missing) sent.set(part, 0)
  const urls = new Map<number, Promise<SignedPart | undefined>>()

  const failures: unknown[] = []
  // Stops all parts on the caller's signal, and when one part has finally failed.
  await withTimeout({ signal }, async (stopped, stop) => {
    throwIfAborted(signal)
    report()
    await Promise.all(Array.from({ length: CONCURRENCY }, () => sendNextParts(stopped, stop)))
  })
  if (failures.length > 0) throw failures[0]

  async function sendNextParts(stopped: AbortSignal, stop: () => void): Promise<void> {
    for (let part = missing.shift(); part !== undefined && failures.length === 0; part = missing.shift()) {
      try {
        await sendPart(part, stopped)
      } catch (error) {
        failures.push(error)
        stop()
      }
    }
  }

  async function sendPart(part: number, stopped: AbortSignal): Promise<void> {
    const slice = sliceOf(part)
    let refusal: unknown
    const send = async () => {
      const url = await urlOf(part, stopped)
      throwIfAborted(stopped)
      const reportPart: ReportSent = (bytes) => {
        sent.set(part, Math.min(bytes, slice.size))
        report()
      }
      await put(
        { method: 'PUT', url, headers: {} },
        { file: slice, progress: reportPart, signal: stopped },
      ).catch((error: unknown) => {
        refusal = error
        throw error
      })
      reportPart(slice.size)
    }
    // Each retry gets a new URL, because the previous one may have expired. 404: the upload was aborted or completed.
    await retry(send, { signal: stopped, phase }, (error) => {
      if (isTransient(error) || error !== refusal)
        return isTransient(error) || isCode(error, 'UNEXPECTED_RESPONSE')
      return error instanceof S3ClientError && error.status !== 404
    })
  }

  async function urlOf(part: number, stopped: AbortSignal): Promise<string> {
    if (!urls.has(part)) {
      const parts = [part, ...missing.slice(0, URL_BATCH_SIZE - 1).filter((other) => !urls.has(other))]
      const signed = sign(parts, stopped)
      for (const each of parts) {
        const url = signed.then((found) => found.find(({ partNumber }) => partNumber === each))
        // Prevents an unhandled rejection if no part waits for this URL.
        url.catch(() => undefined)
        urls.set(each, url)
      }
    }
    const url = urls.get(part)
    urls.delete(part)
    const signed = await url
    if (!signed) throw responseError(200, '')
    return signed.url
  }

  function report(): void {
    progress([...sent.values()].reduce((sum, bytes) => sum + bytes, 0))
  }
}
