import { StorageError } from '../../core/errors.js'
import { unknownName } from '../../core/known-names.js'
import type { ByteRange } from '../../core/object-storage.js'
import type { Report } from '../../core/reporter.js'
import { refuseUnknownNames } from '../../core/store/inputs/fields.js'
import { isPastEnd } from '../../core/store/lifecycle/change.js'
import type { StorageObject } from '../../core/store/records.js'
import {
  checkAttemptId,
  checkBoolean,
  checkInteger,
  checkObject,
  checkOneOf,
  checkSize,
  checkText,
  invalid,
  optional,
  unknownField,
} from '../../core/store/validation/checks.js'
import { notFound } from '../attempts/errors.js'
import { secondsAfter, DISPOSITIONS, notAfterEnd, LONGEST_URL_SECONDS, presentationOf } from '../url-terms.js'
import { bytesOf } from '../storage.js'
import type { ServerDependencies } from '../dependencies.js'
import { CallerError, checkSignal, lacks, linkedAbort, waitUntilAborted, type LinkedAbort } from './caller.js'
import {
  GET_INPUT,
  RANGE_NAMES,
  URL_INPUT,
  type DownloadURLInput,
  type FileURL,
  type GetFileInput,
  type OpenFile,
} from './inputs.js'

const CONTEXT = { operation: 'files.get' }

export async function getFile(dependencies: ServerDependencies, input: GetFileInput): Promise<OpenFile> {
  const { storage } = dependencies
  const read = storage.read?.bind(storage)
  if (!read) throw lacks('read()', 'get')
  refuseUnknownNames(GET_INPUT, input)
  const signal = checkSignal(input.signal)
  const given = optional(input.range, checkRange)
  if (signal?.aborted) throw new CallerError(signal.reason)
  const stop = linkedAbort(signal)
  try {
    for (let before: StorageObject | null = null; ;) {
      const object = await findFile(dependencies, input)
      const range = given && rangeWithin(given, object.size ?? 0)
      const stream = await read({ ...bytesOf(object, stop), range })
      if (stop.signal.aborted) await stream?.cancel()
      stop.signal.throwIfAborted()
      if (stream) {
        const bytes = range ? range.end - range.start + 1 : (object.size ?? 0)
        return { object, body: openBody(stream, bytes, stop, dependencies.report) }
      }
      // Another version may have replaced the object in the meantime.
      if (before?.attemptId === object.attemptId) {
        throw new StorageError('OBJECT_NOT_FOUND', { message: 'The bytes of the object are missing.' })
      }
      before = object
    }
  } catch (error) {
    stop.unlink()
    throw signal?.aborted ? new CallerError(signal.reason) : error
  }
}

function checkRange(value: unknown): ByteRange {
  const range = checkObject('range', value)
  const unknown = unknownName(range, RANGE_NAMES)
  if (unknown !== null) throw unknownField(unknown, RANGE_NAMES, 'range.')
  const start = checkSize('range.start', range['start'])
  const end = optional(range['end'], (given) => checkSize('range.end', given)) ?? Number.MAX_SAFE_INTEGER
  if (end < start) throw invalid('range', `must end at or after its start (got ${start} to ${end}).`)
  return { start, end }
}

/** Cuts off what is beyond the end of the object. @throws StorageError `VALIDATION_ERROR` (`range`) if nothing remains. */
function rangeWithin({ start, end }: ByteRange, size: number): ByteRange {
  if (start >= size) throw invalid('range', `must start within the object of ${size} bytes (got ${start}).`)
  return { start, end: Math.min(end, size - 1) }
}

/**
 * Returns the body of `files.get`, of exactly this many bytes. It fails with the reason of an abort, or `STORAGE_UNAVAILABLE` if the
 * storage breaks off or returns another number of bytes.
 */
function openBody(
  stream: ReadableStream<Uint8Array>,
  bytes: number,
  { signal, unlink }: LinkedAbort,
  report: Report,
): ReadableStream<Uint8Array> {
  const reader = stream.getReader()
  const waitFor = waitUntilAborted(signal)
  const cancel = (reason: unknown) => {
    unlink()
    return reader.cancel(reason)
  }
  // Also while nothing reads the body, because it holds a connection open.
  signal.addEventListener('abort', () => void cancel(signal.reason).catch(() => undefined), { once: true })

  let received = 0
  let failure: StorageError | undefined
  const fail = (cause: unknown): StorageError => {
    unlink()
    if (!failure) report((failure = new StorageError('STORAGE_UNAVAILABLE', { cause })), CONTEXT)
    return failure
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // A storage may end a body that nothing reads.
        reader.closed.catch((cause: unknown) =>
          controller.error(signal.aborted ? signal.reason : fail(cause)),
        )
      },
      async pull(controller) {
        try {
          const next = await waitFor(reader.read())
          signal.throwIfAborted()
          if (!next.done) received += next.value.byteLength
          if (next.done ? received < bytes : received > bytes) {
            void reader.cancel().catch(() => undefined)
            throw new Error(
              `The storage returned ${next.done ? '' : 'at least '}${received} of ${bytes} bytes.`,
            )
          }
          if (!next.done) return controller.enqueue(next.value)
          unlink()
          controller.close()
        } catch (error) {
          throw signal.aborted ? error : fail(error)
        }
      },
      cancel,
    },
    { highWaterMark: 0 },
  )
}

/** Longest lifetime of a URL of bytes that wait for their check, in seconds. */
const UNCHECKED_URL_SECONDS = 900

/** Signs a URL for the bytes of an active object, or of an arrived attempt, without asking any guard. */
export async function downloadURL(
  dependencies: ServerDependencies,
  input: DownloadURLInput,
): Promise<FileURL> {
  refuseUnknownNames(URL_INPUT, input)
  const { storage, now, download } = dependencies
  const { baseURL } = storage
  if (storage.serve && !baseURL) {
    throw new CallerError(
      new TypeError(
        'files.downloadURL: the storage must have a baseURL, because no request shows the address of the server.',
      ),
    )
  }
  const object = await findFile(dependencies, input)
  const isArrived = object.status === 'pending'
  const wanted =
    optional(input.expiresIn, (value) => checkInteger('expiresIn', value, 1, LONGEST_URL_SECONDS)) ??
    download.urlSecondsOf(object)
  const filename = optional(input.filename, (value) => checkText('filename', value))
  const disposition = checkOneOf('disposition', input.disposition ?? 'attachment', DISPOSITIONS)
  const seconds = isArrived ? Math.min(wanted, UNCHECKED_URL_SECONDS) : wanted
  const expiresAt = notAfterEnd(secondsAfter(now(), seconds), object)
  const { url, ...signed } = await storage.signDownload({
    ...bytesOf(object),
    filename: filename ?? object.filename ?? object.key,
    // Unchecked bytes must not run in a browser, nor be displayed by one.
    ...presentationOf(object.contentType, isArrived ? 'attachment' : disposition),
    expiresAt,
    serverURL: baseURL ?? '',
  })
  return { url, expiresAt: signed.expiresAt ?? expiresAt, object }
}

/**
 * Returns the active object, or the arrived attempt, that a call names.
 * @throws StorageError `VALIDATION_ERROR`, `OBJECT_NOT_FOUND`
 */
async function findFile(
  { records, bucket: defaultBucket, now }: ServerDependencies,
  input: Pick<GetFileInput, 'key' | 'bucket' | 'scope' | 'attemptId' | 'arrived'>,
): Promise<StorageObject> {
  const { key, scope } = input
  const { objects } = records
  const attemptId = optional(input.attemptId, (value) => checkAttemptId('attemptId', value))
  const isArrived = optional(input.arrived, (value) => checkBoolean('arrived', value)) ?? false
  if (isArrived && attemptId === null) throw invalid('attemptId', 'must be given together with arrived.')
  const at = { bucket: input.bucket ?? defaultBucket, key, scope }
  const object = await (isArrived ? objects.findPending({ ...at, id: attemptId }) : objects.findActive(at))
  if (!object || object.scope !== (scope ?? object.scope) || isPastEnd(object, now())) throw notFound()
  if (object.attemptId !== (attemptId ?? object.attemptId)) throw notFound()
  if (isArrived && object.arrivedAt === null) throw notFound()
  return object
}
