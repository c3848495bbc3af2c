import type { DbClientObject } from '../../core/store/records.js'
import type { ApiRequest } from '../api-request.js'
import { S3ClientError, throwIfAborted, unexpectedResponse } from '../client-error.js'
import { endAttempt, withDelayedAbort } from './end-attempt.js'
import { retry } from './retry.js'
import type { Transfer, UploadContext } from './transfer.js'
import { choosePut, type SignedPut } from './transport.js'

interface StartedUpload {
  readonly object: DbClientObject
  readonly upload: SignedPut
}

/** Identifies the attempt in later calls. */
type Attempt = Pick<DbClientObject, 'bucket' | 'key' | 'id'>

type Signal = AbortSignal | null | undefined

/** Starts an upload, sends the file with one signed PUT, and has the server confirm it. */
export async function uploadInOnePut(
  { request, fetch }: UploadContext,
  transfer: Transfer,
): Promise<DbClientObject> {
  const { uploadRequest, progress, signal } = transfer
  throwIfAborted(signal)
  const { object, upload } = await withDelayedAbort(signal, (delayed) =>
    request<StartedUpload>('POST', '/upload', { body: uploadRequest, answer: 'upload', signal: delayed }),
  )
  const attempt: Attempt = { bucket: object.bucket, key: object.key, id: object.id }
  const active = await sendAndConfirm().catch(async (error: unknown) => {
    const confirmed = await endAttempt({
      abort: (endSignal) =>
        request('POST', '/upload/abort', { body: attempt, signal: endSignal, keepalive: true }),
      confirm: (endSignal) => confirm(request, attempt, endSignal),
    })
    if (!confirmed) throw error
    return confirmed
  })
  progress(Infinity)
  return active

  async function sendAndConfirm(): Promise<DbClientObject> {
    throwIfAborted(signal)
    const putError = await inconclusiveError(choosePut(fetch)(upload, transfer), signal)
    try {
      return await retry(() => confirm(request, attempt, signal), signal)
    } catch (error) {
      throw putError ?? error
    }
  }
}

/**
 * Resolves to `null` if the PUT succeeded, and to its error if the bytes may have been stored anyway: the response was
 * lost, or the browser sent the request twice and the bucket refused the repetition. Rejects if they were not stored.
 */
async function inconclusiveError(put: Promise<number>, signal: Signal): Promise<S3ClientError | null> {
  let status: number
  try {
    status = await put
  } catch (error) {
    if (signal?.aborted || !(error instanceof S3ClientError)) throw error
    return error
  }
  throwIfAborted(signal)
  if (status < 300) return null
  const error = unexpectedResponse(status)
  if (status === 409 || status === 412 || status >= 500) return error
  throw error
}

async function confirm(request: ApiRequest, attempt: Attempt, signal: Signal): Promise<DbClientObject> {
  const { object } = await request<{ object: DbClientObject }>('POST', '/upload/confirm', {
    body: attempt,
    answer: 'object',
    signal,
  })
  return object
}
