import type { ObjectStorage, StoredPart } from '../../core/object-storage.js'
import { attemptNotFound } from '../attempts/attempt.js'
import { bytesOf } from '../storage.js'
import { partSizeOf, type PendingMultipart } from '../attempts/parts.js'
import { bodyParts, type ByteSource } from './byte-source.js'
import { CallerError, waitUntilAborted, type LinkedAbort } from './caller.js'
import type { PartInMemory } from './part-memory.js'

/** The methods of a storage that write bytes. */
export type BytesStorage = ReturnType<typeof bytesStorage>

/**
 * Returns the methods that write a body of this size. `multipart` is `null` for one that is written at once.
 * @throws CallerError that names a missing method.
 */
export function bytesStorage(storage: ObjectStorage, size: number) {
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

/** Sends a part after what comes `before`, and releases its memory. */
export async function sendPart(
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
export async function sendInParts(
  multipart: NonNullable<BytesStorage['multipart']>,
  row: PendingMultipart,
  { source, size, stop, onSent }: Sending,
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
    for await (const part of bodyParts(source, size, waitUntilAborted(stop.signal))) {
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
