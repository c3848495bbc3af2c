import type { DbClientObject } from '../../core/store/records.js'
import { isCode, S3ClientError, throwIfAborted } from '../client-error.js'
import type { Announcement } from './announcement.js'
import { choosePut } from './choose-put.js'
import { giveUp, LAST_WORDS } from './give-up.js'
import { withGrace } from './grace.js'
import { keptName, withKept, type KeptUpload, type UploadIds } from './kept-upload.js'
import { beginInParts, multipartCalls, type MultipartCalls, type PartsThere } from './multipart-calls.js'
import type { BytesToPut } from './put-bytes.js'
import { isPassing, repeatUntilAnswered } from './repeat.js'
import { sendParts } from './send-parts.js'
import type { UploadContext } from './upload-context.js'

type Transfer = BytesToPut & { readonly announcement: Announcement }

/**
 * Announces a file, sends it part by part, and has the server complete it; or goes on with what a reload or a lost network
 * has cut off. Rejects with `NOT_FOUND`, and nothing has begun, where the server has no uploads in parts.
 */
export function uploadInParts(context: UploadContext, transfer: Transfer): Promise<DbClientObject> {
  const { request, base } = context
  const { file, announcement, signal } = transfer
  return withKept(keptName(base, file, announcement), async (kept) => {
    throwIfAborted(signal)
    const earlier = kept.read()
    if (earlier) {
      try {
        return await carryThrough(context, transfer, kept, earlier, null)
      } catch (error) {
        if (signal?.aborted || !isNoUpload(error)) throw error
      }
    }
    // An abort doesn't cut this call off at once: without its answer nobody could end the attempt that it begins.
    const { partSize, ...ids } = await withGrace(signal, LAST_WORDS, (graceful) =>
      beginInParts(request, announcement, graceful),
    )
    kept.keep(ids)
    return carryThrough(context, transfer, kept, ids, { partSize, sizes: new Map() })
  })
}

/** The upload that was kept is gone; or what was kept never named one, since anything on the page may write there. */
function isNoUpload(error: unknown): boolean {
  return isCode(error, 'OBJECT_NOT_FOUND') || isCode(error, 'VALIDATION_ERROR')
}

/** Rejects with `OBJECT_NOT_FOUND` where the server knows nothing of this upload any more. */
async function carryThrough(
  { request, fetch }: UploadContext,
  transfer: Transfer,
  kept: KeptUpload,
  ids: UploadIds,
  there: PartsThere | null,
): Promise<DbClientObject> {
  const calls = multipartCalls(request, ids)
  const { progress, signal } = transfer
  try {
    const object = await sendAndComplete(calls, { ...transfer, put: choosePut(fetch) }, there)
    kept.forget()
    progress(Infinity)
    return object
  } catch (error) {
    if (kept.lasts && !signal?.aborted && canGoOnLater(error)) throw error
    kept.forget()
    const object = await giveUp({ abort: calls.abort, confirm: (last) => calls.complete(last) })
    if (!object) throw error
    progress(Infinity)
    return object
  }
}

async function sendAndComplete(
  calls: MultipartCalls,
  transfer: Omit<Parameters<typeof sendParts>[1], 'there'>,
  there: PartsThere | null,
): Promise<DbClientObject> {
  const { signal } = transfer
  const list = () => repeatUntilAnswered(() => calls.list(signal), signal)
  const complete = () => repeatUntilAnswered(() => calls.complete(signal), signal)
  try {
    await sendParts(calls, { ...transfer, there: there ?? (await list()) })
    try {
      return await complete()
    } catch (error) {
      if (!isCode(error, 'UPLOAD_MISMATCH')) throw error
      // The bucket lacks a part that it had taken.
      await sendParts(calls, { ...transfer, there: await list() })
      return await complete()
    }
  } catch (gone) {
    if (signal?.aborted || !isCode(gone, 'OBJECT_NOT_FOUND')) throw gone
    // It may be gone because it is done: an earlier complete was carried out, and its answer lost; or another tab was first.
    return complete().catch((error: unknown) => {
      throw canGoOnLater(error) ? error : gone
    })
  }
}

/** A network or a server that is out of service, and a session that has ended, can come back; then nothing is lost. */
function canGoOnLater(error: unknown): boolean {
  return isPassing(error) || (error instanceof S3ClientError && error.status === 401)
}
