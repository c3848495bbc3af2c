import { S3ClientError, throwIfAborted, unexpectedResponse } from '../client-error.js'
import type { MultipartCalls, PartsThere, Signal } from './multipart-calls.js'
import type { ReportSent } from './progress.js'
import type { PutBytes } from './put-bytes.js'
import { isPassing, repeatUntilAnswered } from './repeat.js'

/** Parts on their way at once: enough to fill a line, and of a browser's six connections to a host two are left. */
const AT_ONCE = 4

/** URLs that are asked for at once. Few, so that on a slow line the last of them has not expired when its turn comes. */
const URLS_AT_ONCE = 8

export interface PartsToSend {
  readonly file: Blob
  readonly there: PartsThere
  readonly put: PutBytes
  readonly progress: ReportSent
  readonly signal?: Signal
}

/** Sends the parts that the bucket has not, several at once, each again where it fails. Rejects when one has failed for good. */
export async function sendParts(
  { sign }: Pick<MultipartCalls, 'sign'>,
  { file, there, put, progress, signal }: PartsToSend,
): Promise<void> {
  const { partSize, sizes } = there
  const count = Math.max(1, Math.ceil(file.size / partSize))
  const sliceOf = (part: number) => file.slice((part - 1) * partSize, part * partSize)
  const all = Array.from({ length: count }, (_, index) => index + 1)
  const missing = all.filter((part) => sizes.get(part) !== sliceOf(part).size)
  const sent = new Map(sizes)
  for (const part of missing) sent.set(part, 0)
  const urls = new Map<number, Promise<string | undefined>>()

  // A part that has failed for good stops the others, as the caller's signal does.
  const stopped = new AbortController()
  const stop = () => stopped.abort(signal?.reason)
  const failures: unknown[] = []
  signal?.addEventListener('abort', stop)
  try {
    throwIfAborted(signal)
    report()
    await Promise.all(Array.from({ length: AT_ONCE }, sendInTurn))
  } finally {
    signal?.removeEventListener('abort', stop)
  }
  if (failures.length > 0) throw failures[0]

  async function sendInTurn(): Promise<void> {
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
      // The bucket has dropped the upload, or made an object of it.
      if (status === 404) throw new S3ClientError('OBJECT_NOT_FOUND', 'The upload has ended.', { status })
      if (status >= 300) throw unexpectedResponse(status)
      reportPart(slice.size)
    }
    // Each time with another URL, so that one that has expired is no reason to give up.
    await repeatUntilAnswered(send, stopped.signal, isWorthATry)
  }

  async function urlOf(part: number): Promise<string> {
    if (!urls.has(part)) {
      const parts = [part, ...missing.slice(0, URLS_AT_ONCE - 1).filter((other) => !urls.has(other))]
      const signed = sign(parts, stopped.signal)
      for (const each of parts) {
        const url = signed.then((found) => found.get(each))
        // Whoever waits for it is told; nobody may be waiting.
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

function isWorthATry(error: unknown): boolean {
  return isPassing(error) || (error instanceof S3ClientError && error.code === 'UNEXPECTED_RESPONSE')
}
