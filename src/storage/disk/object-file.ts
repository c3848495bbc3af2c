import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { StoredBytes } from '../../core/object-storage.js'
import type { NewBytes } from '../signed-urls/byte-shelf.js'

/*
 * The file of an object: its bytes, a line feed, their description as one line of JSON, a line feed. One file, so that
 * neither exists without the other; the bytes first, so that their hash is known when it is written, and so that what
 * shows pictures shows such a file too. `tail -n 1` shows the description.
 */

/** What lies in a file, and, for whoever looks into the directory, which object it is. */
export interface ObjectDescription extends StoredBytes {
  readonly bucket: string
  readonly key: string
  readonly contentType: string
  readonly eTag: string
  readonly attemptId: string
}

/** Far more than the longest names take, each of their characters escaped. */
const MAX_DESCRIPTION_BYTES = 16 * 1024

const LINE_FEED = 10

/** Writes an object into an empty file, no faster than the disk takes it; resolves to its ETag. */
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
  const ending = Buffer.from(`\n${JSON.stringify(description)}\n`)
  if (ending.byteLength > MAX_DESCRIPTION_BYTES) {
    throw new RangeError(`The names of an object take ${ending.byteLength} bytes; they are too long.`)
  }
  await file.writeFile(ending)
  return eTag
}

/** @throws Error for a file that `writeObject` can't have written: somebody has changed it, or the disk has lost some of it. */
export async function readDescription(file: FileHandle): Promise<ObjectDescription> {
  const { size: fileSize } = await file.stat()
  const ending = Buffer.alloc(Math.min(fileSize, MAX_DESCRIPTION_BYTES))
  await file.read(ending, 0, ending.byteLength, fileSize - ending.byteLength)
  const lineEnd = ending.byteLength - 1
  const lineStart = ending.subarray(0, Math.max(lineEnd, 0)).lastIndexOf(LINE_FEED)
  const description = parseJson(ending.subarray(lineStart + 1, lineEnd).toString())
  const bytesBefore = fileSize - (ending.byteLength - lineStart)
  if (lineStart === -1 || !isDescription(description) || description.size !== bytesBefore) {
    throw new Error('The file of an object is damaged.')
  }
  return description
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isDescription(value: unknown): value is ObjectDescription {
  if (typeof value !== 'object' || value === null) return false
  const { size, ...texts } = value as Readonly<Record<keyof ObjectDescription, unknown>>
  const names = ['bucket', 'key', 'contentType', 'eTag', 'attemptId'] as const
  return typeof size === 'number' && names.every((name) => typeof texts[name] === 'string')
}
