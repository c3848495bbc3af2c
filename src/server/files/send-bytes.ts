import type { MultipartStorage, ObjectStorage } from '../../core/object-storage.js'
import { notFound } from '../attempts/attempt.js'
import { bytesOf } from '../storage.js'
import { partSizeOf, type PendingMultipart } from '../attempts/parts.js'
import { bodyParts, type ByteSource } from './byte-source.js'
import { CallerError, waitUntilAborted, type LinkedAbort } from './caller.js'

/** The methods of a storage that write bytes. */
export interface BytesStorage {
  readonly write: NonNullable<ObjectStorage['write']>
  /** `null` for a body that is written at once. */
  readonly multipart: (MultipartStorage & Required<Pick<MultipartStorage, 'writePart'>>) | null
}

/** Returns the methods that write a body of this size. @throws CallerError that names a missing one. */
export function bytesStorage(storage: ObjectStorage, size: number): BytesStorage {
  const { multipart } = storage
  const write = storage.write?.bind(storage)
  if (!write) throw lacks('write()')
  if (size <= partSizeOf(size)) return { write, multipart: null }
  const writePart = multipart?.writePart?.bind(multipart)
  if (!multipart || !writePart) throw lacks('multipart.writePart()')
  return { write, multipart: { ...multipart, writePart } }
}

/** Builds the error for a storage that lacks a method. */
export function lacks(method: string, caller = 'put'): CallerError {
  return new CallerError(new TypeError(`files.${caller}: the storage must implement ${method}.`))
}

/** What is being sent. */
export interface Sending {
  readonly source: ByteSource
  readonly size: number
  readonly contentType: string
  readonly stop: LinkedAbort
  /** Called with the number of bytes that have been sent. */
  readonly onSent: (loaded: number) => Promise<void>
}

/** Writes the parts of a reservation. While one is being sent, the next one is read, so two are in memory. */
export async function sendInParts(
  multipart: NonNullable<BytesStorage['multipart']>,
  row: PendingMultipart,
  { source, size, stop, onSent }: Sending,
): Promise<void> {
  const { uploadId, expiresAt: writableUntil } = row
  const at = { ...bytesOf(row, stop), uploadId, writableUntil }
  let partNumber = 0
  let loaded = 0
  async function send(body: Uint8Array): Promise<void> {
    partNumber += 1
    const isOpen = await multipart.writePart({ ...at, partNumber, body })
    if (!isOpen) throw notFound()
    loaded += body.byteLength
    await onSent(loaded)
  }

  let sending = Promise.resolve()
  try {
    for await (const part of bodyParts(source, size, partSizeOf(size), waitUntilAborted(stop.signal))) {
      await sending
      sending = send(part)
      // Also stops waiting for the body.
      sending.catch(stop.abort)
    }
    await sending
  } catch (error) {
    // Also ends the part that is being sent.
    stop.abort(error)
    await sending.catch(() => undefined)
    throw error
  }
}
