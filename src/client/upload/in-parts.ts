import type { DbClientObject } from '../../core/store/records.js'
import { limited } from '../call-options.js'
import { isCode, type S3ClientError, withoutResponse } from '../client-error.js'
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
    const readSame = () => {
      const attempt = slot.read()
      return identity && attempt && attempt.identity === identity && !attempt.aborted && attempt
    }
    if (!readSame()) continue
    // First of all, so that settling the others neither completes nor ends this one.
    const object = await inOneTab(slot, async () => {
      // Another tab may have worked on it meanwhile.
      const attempt = readSame()
      if (!attempt) return undefined
      await settleOthers()
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
  isNew = false,
): Promise<DbClientObject> {
  const { phase, signal } = transfer
  const calls = attemptCalls(slot, attempt)
  const sendListed = async () => {
    const { partSize } = await retry(() => calls.list({ signal }), transfer)
    if (partSize !== attempt.partSize) attempt.digests = []
    attempt.partSize = partSize
    await sendMissing(transfer, slot, attempt)
  }
  const send = async () => {
    // From here on, the attempt is this page's, also if it ends before anything is sent.
    slot.write(attempt)
    await compare(transfer, attempt)
    // A whole one may be complete: the response to an earlier call was lost.
    if (!isWhole(attempt)) await (isNew ? sendMissing(transfer, slot, attempt) : sendListed())
    slot.write(attempt)
    return retry(
      () => {
        phase.enter('confirming')
        return calls.finish(transfer)
      },
      transfer,
      async (error, failures) => {
        if (!isCode(error, 'UPLOAD_MISMATCH')) return isTransient(error)
        // The bucket lost a part that it had accepted, or has put all parts together and shows the file late.
        attempt.digests = []
        await sendListed().catch((gone: unknown) => {
          if (!isGone(gone)) throw gone
        })
        return failures < 5
      },
    )
  }
  return conclude(transfer, slot, attempt, send)
}

/** Compares the file with the kept digests, and drops those of parts that differ. */
async function compare({ file, progress, signal }: Transfer, attempt: KeptAttempt): Promise<void> {
  const { digests, partSize } = attempt
  attempt.digests = []
  await fourAtOnce([...digests.keys()], async (index) => {
    throwIfAborted(signal)
    const digest = digests[index]
    const part = file.slice(index * partSize!, (index + 1) * partSize!)
    if (!digest || (await readPart(part))[1] !== digest) return
    attempt.digests[index] = digest
    progress(loadedOf(attempt))
  })
}

/** URLs requested at once. Few, because on a slow connection the last one could expire before its part is sent. */
const URL_BATCH_SIZE = 8

/** How often the digests are stored, in milliseconds. */
const STORE_INTERVAL = 1000

/** Sends the missing parts, several at once, and retries failed ones. Rejects once all retries of a part have failed. */
async function sendMissing(
  { file, put, progress, phase, signal }: Transfer,
  slot: Slot,
  attempt: KeptAttempt,
): Promise<void> {
  const partSize = attempt.partSize!
  const arrived = loadedOf(attempt)
  phase.enter('sending')
  // Before a part is replaced, so that no digest is stored of bytes that the bucket no longer has.
  slot.write(attempt)
  const missing: number[] = []
  for (let part = 1; (part - 1) * partSize < file.size; part++) {
    if (!attempt.digests[part - 1]) missing.push(part)
  }
  /** Bytes of the missing parts, by part number. */
  const sent: number[] = []
  const report = () => progress(sent.reduce((sum, bytes) => sum + bytes, arrived))
  const { sign } = attemptCalls(slot, attempt)
  const batches: Record<number, ReturnType<typeof sign>> = {}
  const timer = setInterval(() => {
    if (!slot.isTaken()) slot.write(attempt)
  }, STORE_INTERVAL)

  // Stops all parts on the caller's signal, when one part has finally failed, and when another page resumes the upload.
  await limited({ signal }, async (stopped) => {
    report()
    const taken = new Promise((_, reject) =>
      quietly(() => {
        addEventListener('storage', () => slot.isTaken() && reject(withoutResponse({ aborted: true })), {
          signal: stopped,
        })
      }),
    )
    await Promise.race([fourAtOnce([...missing.keys()], (index) => sendPart(index, stopped)), taken])
  }).finally(() => clearInterval(timer))

  async function sendPart(index: number, stopped: AbortSignal): Promise<void> {
    const part = missing[index]!
    const slice = file.slice((part - 1) * partSize, part * partSize)
    const [bytes, digest] = await readPart(slice)
    // So that the digest is that of what is sent, whatever happens to the file. Chromium sends the bytes of an ArrayBuffer ten
    // times slower than those of a Blob.
    const body = digest ? new Blob([bytes]) : slice
    const reportPart = (count: number) => {
      sent[part] = count
      report()
    }
    const first = index - (index % URL_BATCH_SIZE)
    const send = async () => {
      const batch = batches[first] || sign(missing.slice(first, first + URL_BATCH_SIZE), stopped)
      batches[first] = batch
      const { url, expiresAt } = (await batch).parts[index - first]!
      attempt.until = Date.parse(expiresAt) + attempt.skew!
      if (slot.isTaken()) throw withoutResponse({ aborted: true })
      await put({ method: 'PUT', url, headers: {} }, { file: body, progress: reportPart, signal: stopped })
      // Without a digest, the part counts for this call alone.
      attempt.digests[part - 1] = digest || true
      reportPart(slice.size)
    }
    await retry(send, { signal: stopped, phase }, (error) => {
      // Each retry gets a new URL, because the previous one may have expired.
      delete batches[first]
      // Any refusal by the bucket may pass: 403 is an expired URL, 409 another writer. 404: the upload was aborted or completed.
      return isTransient(error) || ((error as S3ClientError).path === null && statusOf(error) !== 404)
    })
  }
}
