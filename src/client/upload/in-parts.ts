import type { DbClientObject } from '../../core/store/records.js'
import { limited } from '../call-options.js'
import { isCode, S3ClientError, withoutResponse } from '../client-error.js'
import {
  attemptCalls,
  conclude,
  isGone,
  isWhole,
  loadedOf,
  newAttempts,
  skewOf,
  type StartedInParts,
} from './attempt.js'
import { readPart } from './digest.js'
import { inOneTab, type KeptAttempt, quietly, type Slot } from './kept-attempts.js'
import { statusOf, isTransient, retry, throwIfAborted } from './retry.js'
import { fourAtOnce, type Transfer } from './transfer.js'

/** How long the first URLs of an upload may take, in milliseconds. */
const UNTIL_SIGNED = 60_000

/**
 * Starts a multipart upload, or resumes one that a reload or a lost network has interrupted, and has the server complete
 * it. Rejects with `NOT_FOUND` without having started anything if multipart uploads are turned off at the server.
 */
export async function uploadInParts(
  transfer: Transfer,
  settleOthers: () => Promise<void>,
): Promise<DbClientObject> {
  const { file, uploadRequest, kept } = transfer
  // A file without a name can't be recognized. Not `instanceof`, because it may come from another frame.
  const identity = 'lastModified' in file && JSON.stringify(uploadRequest)
  for (const slot of kept.slots()) {
    const object = await inOneTab(slot, async () => {
      const attempt = slot.read()
      if (!identity || !attempt || attempt.identity !== identity || attempt.aborted) return undefined
      // Without waiting for it, because another page may write until `finish` has taken the attempt over.
      void settleOthers()
      return finish(transfer, slot, attempt).catch((error: unknown) => {
        if (!isGone(error) && !isCode(error, 'UPLOAD_MISMATCH')) throw error
        return undefined
      })
    })
    if (object) return object
  }
  await settleOthers()
  return newAttempts<StartedInParts>(transfer, '/multipart', (slot, { object, uploadId, partSize }) => {
    const until = Date.now() + UNTIL_SIGNED
    const attempt = { object, uploadId, partSize, identity, skew: skewOf(object), until, digests: [] }
    return finish(transfer, slot, attempt, true)
  })
}

/**
 * Sends the missing parts and completes the upload. Nothing is stored of one that `isNew`. Rejects with `OBJECT_NOT_FOUND` if the
 * server doesn't know the attempt.
 */
function finish(
  transfer: Transfer,
  slot: Slot,
  attempt: KeptAttempt,
  isNew?: boolean,
): Promise<DbClientObject> {
  const { phase, signal } = transfer
  const calls = attemptCalls(slot, attempt)
  const sendListed = async () => {
    attempt.partSize = (await retry(() => calls.list({ signal }), transfer)).partSize
    await sendMissing(transfer, slot, attempt)
  }
  const send = async () => {
    // From here on, the attempt is this page's, also if it ends before anything is sent.
    slot.write(attempt)
    await compare(transfer, attempt)
    // A whole one may be complete: the response to an earlier call was lost.
    if (!isWhole(attempt)) await (isNew ? sendMissing(transfer, slot, attempt) : sendListed())
    store(slot, attempt)
    return retry(
      () => {
        phase.enter('confirming')
        return calls.finish(transfer)
      },
      transfer,
      async (error, failures) => {
        if (!isCode(error, 'UPLOAD_MISMATCH')) return isTransient(error)
        // The bucket lost a part that it had accepted, or has put all parts together and shows the file late.
        attempt.digests = attempt.digests.map(String)
        await sendListed().catch((gone: unknown) => {
          if (!isGone(gone)) throw gone
        })
        return failures < 5
      },
    )
  }
  return conclude(transfer, slot, attempt, send)
}

/**
 * Compares the file with every part that was begun. Rejects with `UPLOAD_MISMATCH` if one differs, so that another upload begins.
 * In the kept upload, a request whose response was lost could still replace a part of this file.
 */
async function compare(
  { file, progress, signal }: Transfer,
  { digests, partSize }: KeptAttempt,
): Promise<void> {
  let compared = 0
  await fourAtOnce([...digests.entries()], async ([number, known]) => {
    throwIfAborted(signal)
    if (!known) return
    const part = file.slice((number - 1) * partSize!, number * partSize!)
    if ((await readPart(part))[1] !== String(known)) {
      // If the upload turns out to be complete, it is another file's object.
      digests.length = 0
      throw new S3ClientError('UPLOAD_MISMATCH', '')
    }
    if (Array.isArray(known)) progress((compared += part.size))
  })
}

/** @throws S3ClientError `ABORTED` if another page has gone on with the attempt. */
function store(slot: Slot, attempt: KeptAttempt): void {
  if (slot.isTaken()) throw withoutResponse({ aborted: true })
  slot.write(attempt)
}

/** URLs requested at once. Few, because on a slow connection the last one could expire before its part is sent. */
const URL_BATCH_SIZE = 8

/** How often the digests are stored where pages have locks, in milliseconds. */
const STORE_INTERVAL = 1000

/** Sends the missing parts, several at once, and retries failed ones. Rejects once all retries of a part have failed. */
async function sendMissing(
  { file, put, progress, phase, signal }: Transfer,
  slot: Slot,
  attempt: KeptAttempt,
): Promise<void> {
  const partSize = attempt.partSize!
  phase.enter('sending')
  const missing: number[] = []
  for (let part = 1; (part - 1) * partSize < file.size; part++) {
    if (!Array.isArray(attempt.digests[part])) missing.push(part)
  }
  /** Bytes by part number. At 0, those of all parts that had arrived. */
  const sent: number[] = []
  const report = (part: number, bytes: number) => {
    sent[part] = bytes
    progress(sent.reduce((sum, each) => sum + each))
  }
  const { sign } = attemptCalls(slot, attempt)
  const batches: Record<number, ReturnType<typeof sign>> = {}
  const storeQuietly = () => quietly(() => store(slot, attempt))
  const timer = setInterval(storeQuietly, STORE_INTERVAL)

  // Stops all parts on the caller's signal, and when one part has finally failed.
  await limited({ signal }, async (stopped) => {
    report(0, loadedOf(attempt))
    // Node.js has no such function.
    quietly(() => addEventListener('pagehide', storeQuietly, { signal: stopped }))
    await fourAtOnce([...missing.keys()], (index) => sendPart(index, stopped))
  }).finally(() => clearInterval(timer))

  async function sendPart(index: number, stopped: AbortSignal): Promise<void> {
    const part = missing[index]!
    const slice = file.slice((part - 1) * partSize, part * partSize)
    const [bytes, digest] = await readPart(slice)
    // So that the digest is that of what is sent, whatever happens to the file. Chromium sends the bytes of an ArrayBuffer ten
    // times slower than those of a Blob.
    const body = digest ? new Blob([bytes]) : slice
    const first = index - (index % URL_BATCH_SIZE)
    const send = async () => {
      const batch = batches[first] || sign(missing.slice(first, first + URL_BATCH_SIZE), stopped)
      batches[first] = batch
      const { url, expiresAt } = (await batch).parts[index - first]!
      attempt.until = Date.parse(expiresAt) + attempt.skew!
      // Without a digest, it equals no part of a later call.
      attempt.digests[part] = String(digest)
      // Without locks, another page may go on with the attempt at any time. It must know of this part.
      if (!('locks' in Object(globalThis.navigator))) store(slot, attempt)
      await put(
        { method: 'PUT', url, headers: {} },
        { file: body, progress: (bytes) => report(part, bytes), signal: stopped },
      )
      attempt.digests[part] = [digest]
      report(part, slice.size)
    }
    await retry(send, { signal: stopped, phase }, (error) => {
      // Each retry gets a new URL, because the previous one may have expired.
      delete batches[first]
      // Any refusal by the bucket may pass: 403 is an expired URL, 409 another writer. 404: the upload was aborted or completed.
      return isTransient(error) || ((error as S3ClientError).path === null && statusOf(error) !== 404)
    })
  }
}
