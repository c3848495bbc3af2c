import { StorageError } from '../../core/errors.js'
import type { RecordKeeper } from '../../core/plugin.js'
import type { Quota, StorageObject } from '../../core/store/records.js'
import { checkObject, invalid, shown } from '../../core/store/validation/checks.js'
import { confirmUpload } from '../attempts/confirm-upload.js'
import { endAttempt } from '../attempts/end-attempt.js'
import { beginMultipart, completeInBucket } from '../attempts/multipart.js'
import { reserveUpload } from '../attempts/reserve-upload.js'
import type { RouteTable } from '../options/upload-routes.js'
import { bytesOf } from '../record-bytes.js'
import type { ServerDependencies } from '../server-dependencies.js'
import { byteSource, type ByteSource } from './byte-source.js'
import { asCaller, CallerError } from './caller-error.js'
import type { PutFileInput } from './inputs.js'
import { checkSignal, linkedAbort, type LinkedAbort } from './linked-abort.js'
import { readPutRequest, type PutRequest } from './put-request.js'
import {
  bytesStorage,
  lacks,
  sendAtOnce,
  sendInParts,
  type BytesStorage,
  type Sending,
} from './send-bytes.js'

const CONTEXT = { operation: 'files.put' }

/**
 * Stores a file in the steps of an upload: reserve, write, confirm. If it fails, it ends the attempt, unless the storage or the
 * database is away when all bytes may have arrived. `cleanUp` then decides.
 */
export async function putFile(
  dependencies: ServerDependencies,
  routes: RouteTable,
  input: PutFileInput,
): Promise<StorageObject> {
  if (!dependencies.storage.write) throw lacks('write()')
  checkObject('input', input)
  const signal = checkSignal(input.signal)
  const source = byteSource(input.body)
  const stop = linkedAbort(signal)
  try {
    if (signal?.aborted) throw new CallerError(signal.reason)
    const onProgress = checkProgress(input.onProgress)
    const request = await readPutRequest(input, source, routes)
    return await putRequest(dependencies, request, source, stop, onProgress)
  } catch (error) {
    source.stop(error instanceof CallerError ? error.reason : error)
    throw signal?.aborted ? new CallerError(signal.reason) : error
  } finally {
    stop.unlink()
  }
}

async function putRequest(
  dependencies: ServerDependencies,
  request: PutRequest,
  source: ByteSource,
  stop: LinkedAbort,
  onProgress: NonNullable<PutFileInput['onProgress']>,
): Promise<StorageObject> {
  const { scope, size, contentType } = request
  const storage = bytesStorage(dependencies.storage, size)
  const sending: Sending = {
    source,
    size,
    contentType,
    stop,
    onSent: async (loaded) => void (await asCaller(() => onProgress({ loaded, total: size }))),
  }
  const { records } = dependencies
  const quota = request.quota ?? (await quotaOf(records, scope))
  const terms = { scope, seconds: records.pendingTtlSeconds, quota }
  const reserved = await reserveUpload(dependencies, request, terms, CONTEXT)
  return storage.multipart
    ? putInParts({ ...dependencies, multipart: storage.multipart }, reserved, sending)
    : putAtOnce(dependencies, storage.write, reserved, sending)
}

/** @throws CallerError if the quota depends on a request, so that the call must name one. */
async function quotaOf(records: RecordKeeper, scope: string): Promise<Quota | null> {
  try {
    return await records.quotaOf(scope)
  } catch (error) {
    throw error instanceof TypeError ? new CallerError(error) : error
  }
}

function putAtOnce(
  dependencies: ServerDependencies,
  write: BytesStorage['write'],
  row: StorageObject,
  sending: Sending,
): Promise<StorageObject> {
  const { signal } = sending.stop
  return endOnFailure(dependencies, row, signal, async (mayHaveArrived) => {
    await sendAtOnce(write, row, sending, mayHaveArrived)
    signal.throwIfAborted()
    return confirmUpload(dependencies, row, CONTEXT, sending.stop)
  })
}

async function putInParts(
  dependencies: ServerDependencies & { readonly multipart: NonNullable<BytesStorage['multipart']> },
  reserved: StorageObject,
  sending: Sending,
): Promise<StorageObject> {
  const { multipart } = dependencies
  const { signal } = sending.stop
  const row = await beginMultipart(dependencies, reserved, sending.contentType, CONTEXT, signal)
  return endOnFailure(dependencies, row, signal, async (mayHaveArrived) => {
    await sendInParts(multipart, row, sending)
    signal.throwIfAborted()
    mayHaveArrived()
    await completeInBucket(dependencies, row, {
      ...bytesOf(row, sending.stop),
      uploadId: row.uploadId,
    })
    signal.throwIfAborted()
    return confirmUpload(dependencies, row, CONTEXT, sending.stop)
  })
}

/**
 * Runs the steps after a reservation, and ends the attempt if one fails. `step` calls `mayHaveArrived` before all bytes can be
 * in the storage. If the storage or the database then fails, the attempt is left to `cleanUp`, which confirms or ends it.
 */
async function endOnFailure<T>(
  dependencies: ServerDependencies,
  row: StorageObject,
  signal: AbortSignal,
  step: (mayHaveArrived: () => void) => Promise<T>,
): Promise<T> {
  let isUndecided = false
  try {
    return await step(() => {
      isUndecided = true
    })
  } catch (error) {
    const isLeft = isUndecided && !signal.aborted && isUnavailable(error)
    if (!isLeft) await endAttempt(dependencies, row, CONTEXT)
    throw error
  }
}

function isUnavailable(error: unknown): boolean {
  return (
    error instanceof StorageError &&
    (error.code === 'STORAGE_UNAVAILABLE' || error.code === 'DATABASE_UNAVAILABLE')
  )
}

function checkProgress(value: PutFileInput['onProgress']): NonNullable<PutFileInput['onProgress']> {
  if (value === undefined || value === null) return () => undefined
  if (typeof value !== 'function') throw invalid('onProgress', `must be a function (got ${shown(value)}).`)
  return value
}
