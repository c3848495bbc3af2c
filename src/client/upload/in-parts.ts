import type { DbClientObject } from '../../core/store/records.js'
import { limited } from '../call-options.js'
import { isCode, S3ClientError, withoutResponse } from '../client-error.js'
import {
  attemptCalls,
  conclude,
  END_LIMIT,
  isGone,
  isWhole,
  loadedOf,
  newAttempts,
  skewOf,
  type StartedInParts,
} from './attempt.js'
import { inOneTab, type KeptAttempt, quietly, resumableIn, type Slot } from './kept-attempts.js'
import { inLine } from './line.js'
import { digestOf, readPart } from './read.js'
import { onPage } from './page-events.js'
import { isTransient, retry, statusOf, throwIfAborted } from './retry.js'
import { severalAtOnce, type Transfer } from './transfer.js'

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
  const { kept, identity } = transfer
  for (const slot of kept.slots()) {
    const object = await inOneTab(slot, async () => {
      const attempt = resumableIn(slot, identity)
      if (!attempt) return undefined
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
  let unchanged: Promise<void> | undefined
  const check = () => (unchanged ||= checkUnchanged(transfer, attempt))
  const sendListed = async () => {
    attempt.partSize = (await retry(() => calls.list({ signal }), transfer)).partSize
    await sendMissing(transfer, slot, attempt, check)
  }
  const send = async () => {
    // From here on, the attempt is this page's, also if it ends before anything is sent.
    slot.write(attempt)
    await compare(transfer, attempt)
    // A whole one may be complete: the response to an earlier call was lost.
    if (!isWhole(attempt)) await (isNew ? sendMissing(transfer, slot, attempt, check) : sendListed())
    store(slot, attempt)
    return retry(
      async () => {
        phase.enter('confirming')
        await check()
        return calls.finish(transfer)
      },
      transfer,
      async (error, failures) => {
        if (!isCode(error, 'UPLOAD_MISMATCH')) return isTransient(error)
        // The bucket lost a part that it had accepted, or has put all parts together and shows the file late.
        attempt.digests = attempt.digests.map(String)
        unchanged = undefined
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
async function compare(transfer: Transfer, attempt: KeptAttempt): Promise<void> {
  let compared = 0
  await eachDigest(transfer, attempt, (known, digest, size) => {
    if (digest !== String(known)) {
      // If the upload turns out to be complete, it is another file's object.
      attempt.digests.length = 0
      throw new S3ClientError('UPLOAD_MISMATCH', '')
    }
    if (Array.isArray(known)) transfer.progress((compared += size))
  })
}

/**
 * Reads all parts once more, after the last one was read for the first time. If all are the same as before, the file was this whole in
 * between. Not every browser notices that a file is written while it is read.
 */
function checkUnchanged(transfer: Transfer, attempt: KeptAttempt): Promise<void> {
  const check = (known: unknown, digest: string) => {
    if (digest !== String(known)) {
      throw new S3ClientError('FILE_UNREADABLE', 'The file was changed while it was uploaded.')
    }
  }
  // One by one, because browsers free the memory of what was read late.
  return eachDigest(transfer, attempt, check, 1)
}

/** Computes the digest of every part that was begun. */
async function eachDigest(
  { file, signal }: Transfer,
  { digests, partSize }: KeptAttempt,
  check: (known: KeptAttempt['digests'][number], digest: string, size: number) => void,
  atOnce?: number,
): Promise<void> {
  const compute = async ([number, known]: [number, KeptAttempt['digests'][number]]) => {
    throwIfAborted(signal)
    if (!known) return
    const part = file.slice((number - 1) * partSize!, number * partSize!)
    check(known, String(await digestOf(part, signal)), part.size)
  }
  await severalAtOnce([...digests.entries()], compute, atOnce)
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

/**
 * Sends the missing parts, several at once, and retries failed ones. Calls `onRead` once all of them have been read. Rejects once all
 * retries of a part have failed.
 */
async function sendMissing(
  transfer: Transfer,
  slot: Slot,
  attempt: KeptAttempt,
  onRead: () => Promise<void>,
): Promise<void> {
  const { file, put, progress, phase, signal, traffic } = transfer
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
  let unread = missing.length
  const calls = attemptCalls(slot, attempt)
  const batches: Record<number, ReturnType<typeof calls.sign>> = {}
  const storeQuietly = () => void quietly(() => store(slot, attempt))
  const timer = setInterval(storeQuietly, STORE_INTERVAL)
  const stopListening = onPage('pagehide', storeQuietly)

  // Stops all parts on the caller's signal, and when one part has finally failed.
  await limited({ signal }, async (stopped) => {
    report(0, loadedOf(attempt))
    await severalAtOnce([...missing.keys()], (index) => sendPart(index, stopped))
  }).finally(() => {
    clearInterval(timer)
    stopListening()
  })

  async function sendPart(index: number, stopped: AbortSignal): Promise<void> {
    const part = missing[index]!
    const slice = file.slice((part - 1) * partSize, part * partSize)
    let body: Blob | undefined
    let digest: string | undefined
    let isThere = false

    const send = async () => {
      if (isThere) return
      // Once, so that the digest is that of what is sent, whatever happens to the file.
      if (!body) {
        ;[body, digest] = await readPart(slice, stopped)
        // Without a digest, it equals no part of a later call.
        attempt.digests[part] = String(digest)
        // While the last parts are sent. What it finds comes out before the upload is completed.
        if (--unread === 0) onRead().catch(() => {})
      }
      const url = await urlOf(index, stopped)
      // Without a lock, another page may go on with the attempt at any time. It must know of this part.
      if (!slot.isLocked()) store(slot, attempt)
      await put(
        { method: 'PUT', url, headers: {} },
        { file: body, progress: (bytes) => report(part, bytes), signal: stopped },
      )
    }
    const isInBucket = async () => {
      const { parts } = await calls.list({ ...END_LIMIT, signal: stopped }, part - 1)
      return parts.some(({ partNumber, size }) => partNumber === part && size === slice.size)
    }
    await retry(
      () => inLine(traffic.puts, transfer, stopped, send),
      { signal: stopped, phase },
      async (error, failures) => {
        // Each retry gets a new URL, because the previous one may have expired.
        delete batches[batchOf(index)]
        // The part may have arrived, if only the response can't be read.
        if (failures === 2 && isCode(error, 'NETWORK_ERROR')) isThere = await isInBucket().catch(unlessGone)
        // Other refusals by the bucket may pass: 403 is an expired URL, 409 another writer. 404: the upload was aborted or completed.
        const isFinal = [404, 413, 501, 505].includes(statusOf(error))
        return isTransient(error) || ((error as S3ClientError).path === null && !isFinal)
      },
    )
    attempt.digests[part] = [digest]
    report(part, slice.size)
  }

  async function urlOf(index: number, stopped: AbortSignal): Promise<string> {
    const first = batchOf(index)
    for (let isFresh = false; ; isFresh = true) {
      const batch = batches[first] || calls.sign(missing.slice(first, first + URL_BATCH_SIZE), stopped)
      batches[first] = batch
      const { url, expiresAt } = (await batch).parts[index - first]!
      const until = Date.parse(expiresAt) + attempt.skew!
      if (isFresh || until > Date.now()) {
        attempt.until = until
        return url
      }
      // It has expired while the part waited in line.
      if (batches[first] === batch) delete batches[first]
    }
  }
}

/** Returns the index of the first part whose URL is requested together with that of the part at `index`. */
const batchOf = (index: number) => index - (index % URL_BATCH_SIZE)

/** Ignores an error that doesn't prove that the attempt has ended. */
function unlessGone(error: unknown): false {
  if (isGone(error)) throw error
  return false
}
