import { StorageError } from '../../core/errors.js'
import type { ObjectStorage, StoredPart } from '../../core/object-storage.js'
import { refuseUnknownNames } from '../../core/store/inputs/fields.js'
import { MAX_TEMPORARY_SECONDS } from '../../core/store/inputs/temporary.js'
import { CHECK_SECONDS } from '../../core/store/inputs/verdicts.js'
import type { Quota, StorageObject } from '../../core/store/records.js'
import {
  checkInteger,
  checkObject,
  checkQuota,
  checkSize,
  checkText,
  invalid,
  optional,
  shown,
} from '../../core/store/validation/checks.js'
import { checkMetadata } from '../../core/store/validation/metadata.js'
import { reserveUpload, type UploadRequest } from '../attempts/begin.js'
import { confirmUpload } from '../attempts/confirm.js'
import { attemptNotFound, mismatch } from '../attempts/errors.js'
import { endAttempt } from '../attempts/settle.js'
import { bytesOf } from '../storage.js'
import type { ServerDependencies } from '../dependencies.js'
import {
  beginMultipart,
  completeInBucket,
  maxMultipartSize,
  partsOf,
  type Parts,
  type PendingMultipart,
} from '../attempts/parts.js'
import { checkMediaType } from '../../core/http/media-type.js'
import { applicationKeys, type UploadKeys } from '../attempts/keys.js'
import { checkAccepted, routeOf } from '../upload-routes/acceptance.js'
import { buildKeys } from '../upload-routes/functions.js'
import type { RoutePolicy, RouteTable } from '../upload-routes/options.js'
import { bodyParts, byteSource, type ByteSource } from './byte-source.js'
import {
  asCaller,
  CallerError,
  checkSignal,
  lacks,
  linkedAbort,
  waitUntilAborted,
  type LinkedAbort,
} from './caller.js'
import { PUT_INPUT, type PutFileInput } from './inputs.js'
import type { PartInMemory } from './part-memory.js'

const CONTEXT = { operation: 'files.put' }

/** Stores a file in the steps of an upload. If it fails, ends the attempt, or leaves it to `cleanUp` if all bytes may be there. */
export async function putFile(
  dependencies: ServerDependencies,
  routes: RouteTable,
  input: PutFileInput,
): Promise<StorageObject> {
  checkObject('input', input)
  const { signal } = input
  const source = byteSource(input.body)
  let stop: LinkedAbort | null = null
  try {
    refuseUnknownNames(PUT_INPUT, input)
    stop = linkedAbort(checkSignal(signal))
    if (signal?.aborted) throw new CallerError(signal.reason)
    const onProgress = checkProgress(input.onProgress)
    const request = await readPutRequest(input, source, routes, dependencies.storage)
    return await putRequest(dependencies, request, source, stop, onProgress)
  } catch (error) {
    source.stop(error instanceof CallerError ? error.reason : error)
    throw signal?.aborted ? new CallerError(signal.reason) : error
  } finally {
    stop?.unlink()
  }
}

async function putRequest(
  dependencies: ServerDependencies,
  request: PutRequest,
  source: ByteSource,
  stop: LinkedAbort,
  onProgress: NonNullable<PutFileInput['onProgress']>,
): Promise<StorageObject> {
  const { scope, size, contentType, quota, temporarySeconds, checkSeconds } = request
  const sending: Sending = {
    source,
    size,
    parts: partsOf(size, dependencies.storage.multipart ?? {}),
    contentType,
    stop,
    onSent: async (loaded) => void (await asCaller(() => onProgress({ loaded, total: size }))),
  }
  const storage = bytesStorage(dependencies.storage, sending.parts)
  const seconds = dependencies.records.pendingTtlSeconds
  const terms = { scope, seconds, temporarySeconds, checkSeconds, ...(quota && { quota }) }
  const reserved = await reserveUpload(dependencies, request, terms, CONTEXT)
  return storage.multipart
    ? putInParts({ ...dependencies, multipart: storage.multipart }, reserved, sending)
    : putAtOnce(dependencies, storage.write, reserved, sending)
}

function putAtOnce(
  dependencies: ServerDependencies,
  write: BytesStorage['write'],
  row: StorageObject,
  { source, size, parts, contentType, stop, onSent }: Sending,
): Promise<StorageObject> {
  const { signal } = stop
  return endOnFailure(dependencies, row, signal, async (mayHaveArrived) => {
    for await (const part of bodyParts(source, size, parts, waitUntilAborted(signal))) {
      mayHaveArrived()
      const terms = { contentType, attemptId: row.id, writableUntil: row.expiresAt }
      // If something is there already, confirming the upload finds out whether an earlier try of this call wrote it.
      await sendPart(part, Promise.resolve(), (body) => write({ ...bytesOf(row, stop), body, ...terms }))
    }
    await onSent(size)
    signal.throwIfAborted()
    return confirmUpload(dependencies, row, CONTEXT, true, stop)
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
    const parts = await sendInParts(multipart, row, sending)
    signal.throwIfAborted()
    mayHaveArrived()
    const at = { ...bytesOf(row, sending.stop), uploadId: row.uploadId }
    const isTaken = await completeInBucket(multipart, row, at, dependencies.now, parts)
    signal.throwIfAborted()
    return confirmUpload(dependencies, row, CONTEXT, isTaken, sending.stop)
  })
}

type BytesStorage = ReturnType<typeof bytesStorage>

/** Returns the methods that write a body, without `multipart` for one part. @throws CallerError that names a missing method. */
function bytesStorage(storage: ObjectStorage, { count }: Parts) {
  const { multipart } = storage
  const write = storage.write?.bind(storage)
  if (!write) throw lacks('write()')
  if (count === 1) return { write, multipart: null }
  const writePart = multipart?.writePart?.bind(multipart)
  if (!multipart || !writePart) throw lacks('multipart.writePart()')
  return { write, multipart: { ...multipart, writePart } }
}

interface Sending {
  readonly source: ByteSource
  readonly size: number
  readonly parts: Parts
  readonly contentType: string
  readonly stop: LinkedAbort
  /** Called with the number of bytes that have been sent. */
  readonly onSent: (loaded: number) => Promise<void>
}

/** Sends a part after what comes `before`, and releases its memory. */
async function sendPart(
  part: PartInMemory,
  before: Promise<unknown>,
  send: (body: Uint8Array) => Promise<unknown>,
): Promise<void> {
  let isSent = false
  try {
    await before
    part.touch()
    await send(part.bytes)
    isSent = true
  } finally {
    part.release(isSent)
  }
}

/** Writes the parts of a reservation, and returns them. While one is being sent, the next one is read, so two are in memory. */
async function sendInParts(
  multipart: NonNullable<BytesStorage['multipart']>,
  row: PendingMultipart,
  { source, size, parts: layout, stop, onSent }: Sending,
): Promise<readonly StoredPart[]> {
  const { uploadId, expiresAt: writableUntil } = row
  const at = { ...bytesOf(row, stop), uploadId, writableUntil }
  const parts: StoredPart[] = []
  let loaded = 0
  async function send(part: PartInMemory, before: Promise<void>): Promise<void> {
    const { size: sent } = part
    await sendPart(part, before, async (body) => {
      const partNumber = parts.length + 1
      const eTag = await multipart.writePart({ ...at, partNumber, body })
      if (eTag === null) throw attemptNotFound()
      parts.push({ partNumber, size: sent, eTag })
    })
    await onSent((loaded += sent))
  }

  let sending = Promise.resolve()
  try {
    for await (const part of bodyParts(source, size, layout, waitUntilAborted(stop.signal))) {
      const before = sending
      sending = send(part, before)
      // Also stops waiting for the body.
      sending.catch(stop.abort)
      await before
    }
    await sending
    return parts
  } catch (error) {
    // Also ends the part that is being sent.
    stop.abort(error)
    await sending.catch(() => undefined)
    throw error
  }
}

/** Runs the steps after a reservation. Ends the attempt if one fails, unless all bytes may have arrived and a service is away. */
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

/** Returns whether the storage or the database failed, unless the storage says that it has stored nothing. */
function isUnavailable(error: unknown): boolean {
  if (!(error instanceof StorageError)) return false
  const { isRefusal } = Object(error.cause) as { readonly isRefusal?: unknown }
  const isAway = error.code === 'STORAGE_UNAVAILABLE' || error.code === 'DATABASE_UNAVAILABLE'
  return isAway && isRefusal !== true
}

function checkProgress(value: PutFileInput['onProgress']): NonNullable<PutFileInput['onProgress']> {
  if (value === undefined || value === null) return () => undefined
  if (typeof value !== 'function') throw invalid('onProgress', `must be a function (got ${shown(value)}).`)
  return value
}

interface PutRequest extends UploadRequest {
  readonly scope: string
  /** `null`: the quota of the scope. */
  readonly quota: Quota | null
  /** `null`: that of the route. */
  readonly temporarySeconds: number | null
  /** `null`: the bytes are not checked. */
  readonly checkSeconds: number | null
}

const DEFAULT_TYPE = 'application/octet-stream'

/** Validates the input of `files.put` and builds the key. @throws StorageError as `POST /upload`, and `UPLOAD_MISMATCH`. */
async function readPutRequest(
  input: PutFileInput,
  source: ByteSource,
  routes: RouteTable,
  { multipart }: ObjectStorage,
): Promise<PutRequest> {
  const scope = checkText('scope', input.scope)
  const route = routeOf(routes, input.route)
  const filename = optional(input.filename, (given) => checkText('filename', given))
  const contentType = checkMediaType(input.contentType ?? source.contentType ?? DEFAULT_TYPE)
  const size = sizeOf(input, source)
  await checkAccepted(route, { contentType, size, maxSize: maxMultipartSize(multipart ?? {}), scope })
  const metadata = optional(input.metadata, checkMetadata)
  const quota = optional(input.quota, (given) => (given === false ? {} : checkQuota('quota', given)))
  const temporarySeconds = optional(input.temporarySeconds, (value) =>
    checkInteger('temporarySeconds', value, 1, MAX_TEMPORARY_SECONDS),
  )
  const checkSeconds = optional(input.checkSeconds, (value) =>
    checkInteger('checkSeconds', value, CHECK_SECONDS.min, CHECK_SECONDS.max),
  )
  const keys = await keysOf(route, scope, filename, input.key)
  const terms = { quota, temporarySeconds, checkSeconds }
  return { scope, route, filename, contentType, size, metadata, ...terms, ...keys }
}

function sizeOf({ size }: PutFileInput, source: ByteSource): number {
  const given =
    source.size === null ? checkSize('size', size) : optional(size, (value) => checkSize('size', value))
  if (given !== null && source.size !== null && given !== source.size) {
    throw mismatch(`The body has ${source.size} bytes, and size is ${given}.`)
  }
  return given ?? source.size ?? 0
}

function keysOf(
  route: RoutePolicy,
  scope: string,
  filename: string | null,
  key: string | null | undefined,
): UploadKeys | Promise<UploadKeys> {
  if (key !== undefined && key !== null) return applicationKeys(key)
  if (route.key !== null && filename === null) {
    throw invalid(
      'filename',
      `must be set, because the upload route ${shown(route.name)} builds its keys from it. Or pass a key.`,
    )
  }
  return buildKeys(route, scope, filename ?? '')
}
