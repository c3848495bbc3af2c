import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { StoredBytes } from '../../core/object-storage.js'
import type { NewBytes } from '../local/contract.js'

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

/** Reads the description of an object. @throws Error if the file was changed or truncated since `writeObject` wrote it. */
export async function readDescription(file: FileHandle): Promise<ObjectDescription> {
  const { size: fileSize } = await file.stat()
  const trailer = Buffer.alloc(Math.min(fileSize, MAX_DESCRIPTION_BYTES))
  await file.read(trailer, 0, trailer.byteLength, fileSize - trailer.byteLength)
  const lineEnd = trailer.byteLength - 1
  const lineStart = trailer.subarray(0, Math.max(lineEnd, 0)).lastIndexOf(LINE_FEED)
  const description = parseJson(trailer.subarray(lineStart + 1, lineEnd).toString())
  const bytesBefore = fileSize - (trailer.byteLength - lineStart)
  if (lineStart === -1 || !isDescription(description) || description.size !== bytesBefore) {
    throw new Error('diskStorage: the file of an object is damaged.')
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
