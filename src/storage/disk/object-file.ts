import { createHash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import type { StoredBytes } from '../../core/object-storage.js'
import type { FoundObject, NewBytes, OpenBytes, Selection } from '../local/contract.js'

/*
 * The file of an object contains its bytes, a line feed, a description as one line of JSON, and a line feed. With a single
 * file, the bytes and the description can't get separated. The bytes come first, because the description contains their
 * hash, and because image viewers then open the file as it is. `tail -n 1` prints the description.
 */

/** The description of an object. Bucket and key are for people who inspect the directory. */
export interface ObjectDescription extends StoredBytes {
  readonly bucket: string
  readonly key: string
  readonly contentType: string
  readonly eTag: string
  readonly attemptId: string
}

/** Far more than the longest names need, even with every character escaped. */
const MAX_DESCRIPTION_BYTES = 16 * 1024

const LINE_FEED = 10

/** Writes an object into an empty file, reading `chunks` at the speed of the disk. Returns its ETag. */
export async function writeObject(
  file: FileHandle,
  { bucket, key }: { readonly bucket: string; readonly key: string },
  { chunks, contentType, attemptId }: NewBytes,
): Promise<string> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of chunks) {
    hash.update(chunk)
    size += chunk.byteLength
    await file.writeFile(chunk)
  }
  const eTag = `"${hash.digest('hex')}"`
  const description: ObjectDescription = { bucket, key, size, contentType, eTag, attemptId }
  const trailer = Buffer.from(`\n${JSON.stringify(description)}\n`)
  if (trailer.byteLength > MAX_DESCRIPTION_BYTES) {
    throw new RangeError(
      `diskStorage: bucket, key, and content type must fit in ${MAX_DESCRIPTION_BYTES} bytes (got ${trailer.byteLength}).`,
    )
  }
  await file.writeFile(trailer)
  return eTag
}

/** Reads the description of the object at a path. Rejects if there is no such file. */
export async function describeFile(path: string): ReturnType<typeof readDescription> {
  const file = await open(path, 'r')
  try {
    return await readDescription(file)
  } finally {
    await file.close()
  }
}

/**
 * Reads the description of an object, and when it was written. @throws Error if the file was changed or truncated since
 * `writeObject` wrote it.
 */
export async function readDescription(file: FileHandle): Promise<ObjectDescription & FoundObject> {
  const { size: fileSize, mtime: lastModified } = await file.stat()
  const length = Math.min(fileSize, MAX_DESCRIPTION_BYTES)
  const trailer = Buffer.from(await readChunk(file, fileSize - length, length))
  const lineEnd = trailer.byteLength - 1
  const lineStart = trailer.subarray(0, Math.max(lineEnd, 0)).lastIndexOf(LINE_FEED)
  const description = descriptionOf(trailer.subarray(lineStart + 1, lineEnd).toString())
  const bytesBefore = fileSize - (trailer.byteLength - lineStart)
  if (lineStart === -1 || description?.size !== bytesBefore) {
    throw new Error('diskStorage: the file of an object is damaged.')
  }
  return { ...description, lastModified }
}

function descriptionOf(text: string): ObjectDescription | null {
  try {
    const value = JSON.parse(text) as Readonly<Record<keyof ObjectDescription, unknown>> | null
    const names = ['bucket', 'key', 'contentType', 'eTag', 'attemptId'] as const
    const isComplete =
      typeof value?.size === 'number' && names.every((name) => typeof value[name] === 'string')
    return isComplete ? (value as ObjectDescription) : null
  } catch {
    return null
  }
}

const CHUNK_BYTES = 64 * 1024

/**
 * Opens the bytes of an object that `select` selects. Reads few bytes at once, and more on demand. No file is open before the first
 * read, because some servers neither read nor cancel a body if the client has left.
 */
export async function openBytes<Selected extends Selection>(
  path: string,
  select: (object: FoundObject) => Selected,
): Promise<Selected & { readonly body: OpenBytes | null }> {
  const file = await open(path, 'r')
  try {
    const object = await readDescription(file)
    const selected = select(object)
    if (selected.range === null) return { ...selected, body: null }
    const { start } = selected.range
    const end = Math.min(selected.range.end + 1, object.size)
    const body =
      end - start > CHUNK_BYTES
        ? streamOfFile(() => openAgain(path, object), start, end)
        : await readChunk(file, start, end - start)
    return { ...selected, body }
  } finally {
    await file.close()
  }
}

/** Opens the file of an object once more. @throws Error if another object has taken its place. */
async function openAgain(path: string, { eTag }: FoundObject): Promise<FileHandle> {
  const file = await open(path, 'r')
  try {
    if ((await readDescription(file)).eTag === eTag) return file
    throw new Error('diskStorage: the object was replaced before its bytes were read.')
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Returns a stream that opens the file at the first read, and closes it at the end, when it is cancelled, and on an error. */
function streamOfFile(
  openFile: () => Promise<FileHandle>,
  start: number,
  end: number,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let position = start
  let file: FileHandle | null = null
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        file ??= await openFile()
        try {
          const chunk = await readChunk(file, position, Math.min(CHUNK_BYTES, end - position))
          position += chunk.byteLength
          controller.enqueue(chunk)
          if (position < end) return
          await file.close()
          controller.close()
        } catch (error) {
          await file.close()
          throw error
        }
      },
      cancel: () => file?.close(),
    },
    // Reads nothing ahead.
    { highWaterMark: 0 },
  )
}

/** Reads exactly `length` bytes. @throws Error if the file has become shorter. */
async function readChunk(
  file: FileHandle,
  position: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunk = new Uint8Array(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(chunk, filled, length - filled, position + filled)
    if (bytesRead === 0)
      throw new Error('diskStorage: the file of an object has become shorter while it was being read.')
    filled += bytesRead
  }
  return chunk
}
