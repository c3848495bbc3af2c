import type { DbClientObject } from '../../core/store/records.js'
import type { ApiRequest } from '../api-request.js'
import { S3ClientError, throwIfAborted, unexpectedResponse } from '../client-error.js'
import type { Announcement } from './announcement.js'
import { choosePut } from './choose-put.js'
import { giveUp, LAST_WORDS } from './give-up.js'
import { withGrace } from './grace.js'
import type { BytesToPut, SignedPut } from './put-bytes.js'
import { repeatUntilAnswered } from './repeat.js'
import type { UploadContext } from './upload-context.js'

interface StartedUpload {
  readonly object: DbClientObject
  readonly upload: SignedPut
}

/** Names one attempt in every later call. */
type Attempt = Pick<DbClientObject, 'bucket' | 'key' | 'id'>

type Signal = AbortSignal | null | undefined

/** Announces a file, sends it by one signed PUT, and has the server confirm it. */
export async function uploadInOnePut(
  { request, fetch }: UploadContext,
  transfer: BytesToPut & { readonly announcement: Announcement },
): Promise<DbClientObject> {
  const { announcement, progress, signal } = transfer
  throwIfAborted(signal)
  // An abort doesn't cut this call off at once: without its answer nobody could end the attempt that it begins.
  const { object, upload } = await withGrace(signal, LAST_WORDS, (graceful) =>
    request<StartedUpload>('POST', '/upload', { body: announcement, answer: 'upload', signal: graceful }),
  )
  const attempt: Attempt = { bucket: object.bucket, key: object.key, id: object.id }
  const active = await sendAndConfirm().catch(async (error: unknown) => {
    const confirmed = await giveUp({
      abort: (lastSignal) =>
        request('POST', '/upload/abort', { body: attempt, signal: lastSignal, keepalive: true }),
      confirm: (lastSignal) => confirm(request, attempt, lastSignal),
    })
    if (!confirmed) throw error
    return confirmed
  })
  progress(Infinity)
  return active

  async function sendAndConfirm(): Promise<DbClientObject> {
    throwIfAborted(signal)
    const lost = await lostAnswer(choosePut(fetch)(upload, transfer), signal)
    try {
      return await repeatUntilAnswered(() => confirm(request, attempt, signal), signal)
    } catch (error) {
      throw lost ?? error
    }
  }
}

/**
 * Resolves to `null` if the bytes were taken, and to the error if nobody knows: they may all have arrived although their
 * answer got lost, or a browser may have sent them twice, of which a URL takes only the first. Rejects if they weren't.
 */
async function lostAnswer(put: Promise<number>, signal: Signal): Promise<S3ClientError | null> {
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
