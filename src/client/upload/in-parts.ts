import type { DbClientObject } from '../../core/store/records.js'
import { isCode, S3ClientError, throwIfAborted } from '../client-error.js'
import { endAttempt, withDelayedAbort } from './end-attempt.js'
import { multipartCalls, startInParts, type MultipartCalls, type StoredParts } from './multipart-calls.js'
import { resumeName, withResumeState, type ResumeState, type UploadIds } from './resume-state.js'
import { isTransient, retry } from './retry.js'
import { sendParts } from './send-parts.js'
import type { Transfer, UploadContext } from './transfer.js'
import { choosePut } from './transport.js'

/**
 * Starts a multipart upload, or resumes one that a reload or a lost network has interrupted, and has the server complete
 * it. Rejects with `NOT_FOUND` without having started anything if multipart uploads are turned off at the server.
 */
export function uploadInParts(context: UploadContext, transfer: Transfer): Promise<DbClientObject> {
  const { request, base } = context
  const { file, uploadRequest, signal } = transfer
  return withResumeState(resumeName(base, file, uploadRequest), async (state) => {
    throwIfAborted(signal)
    const earlier = state.read()
    if (earlier) {
      try {
        return await finish(context, transfer, state, earlier, null)
      } catch (error) {
        if (signal?.aborted || !isUnknownUpload(error)) throw error
      }
    }
    const { partSize, ...ids } = await withDelayedAbort(signal, (delayed) =>
      startInParts(request, uploadRequest, delayed),
    )
    state.save(ids)
    return finish(context, transfer, state, ids, { partSize, sizes: new Map() })
  })
}

/** Returns whether the saved upload no longer exists, or the saved ids are invalid, since any script may write there. */
function isUnknownUpload(error: unknown): boolean {
  return isCode(error, 'OBJECT_NOT_FOUND') || isCode(error, 'VALIDATION_ERROR')
}

/** Sends the missing parts and completes the upload. Rejects with `OBJECT_NOT_FOUND` if the server doesn't know it. */
async function finish(
  { request, fetch }: UploadContext,
  transfer: Transfer,
  state: ResumeState,
  ids: UploadIds,
  stored: StoredParts | null,
): Promise<DbClientObject> {
  const calls = multipartCalls(request, ids)
  const { progress, signal } = transfer
  try {
    const object = await sendAndComplete(calls, { ...transfer, put: choosePut(fetch) }, stored)
    state.clear()
    progress(Infinity)
    return object
  } catch (error) {
    if (state.isPersistent && !signal?.aborted && isResumable(error)) throw error
    state.clear()
    const object = await endAttempt({ abort: calls.abort, confirm: (last) => calls.complete(last) })
    if (!object) throw error
    progress(Infinity)
    return object
  }
}

async function sendAndComplete(
  calls: MultipartCalls,
  transfer: Omit<Parameters<typeof sendParts>[1], 'stored'>,
  stored: StoredParts | null,
): Promise<DbClientObject> {
  const { signal } = transfer
  const list = () => retry(() => calls.list(signal), signal)
  const complete = () => retry(() => calls.complete(signal), signal)
  try {
    await sendParts(calls, { ...transfer, stored: stored ?? (await list()) })
    try {
      return await complete()
    } catch (error) {
      if (!isCode(error, 'UPLOAD_MISMATCH')) throw error
      // The bucket lost a part that it had accepted.
      await sendParts(calls, { ...transfer, stored: await list() })
      return await complete()
    }
  } catch (gone) {
    if (signal?.aborted || !isCode(gone, 'OBJECT_NOT_FOUND')) throw gone
    // The upload may be complete: the response to an earlier call was lost, or another tab has completed it.
    return complete().catch((error: unknown) => {
      throw isResumable(error) ? error : gone
    })
  }
}

/** Returns whether the upload can be resumed once the network, the server or the session is back. */
function isResumable(error: unknown): boolean {
  return isTransient(error) || (error instanceof S3ClientError && error.status === 401)
}
