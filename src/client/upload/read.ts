import { S3ClientError } from '../client-error.js'
import { createDigest } from './digest.js'
import { pause } from './retry.js'
import { SLICE } from './sizes.js'

/** How long to wait before a part that can't be read is read again, in seconds. */
const READ_AGAIN = 2

/**
 * Reads a file once. Resolves to its bytes in memory, or to the file itself where a runtime can't read files, as React Native.
 *
 * @throws S3ClientError `FILE_UNREADABLE`
 */
export async function readWhole(file: Blob, name = '', type = ''): Promise<Blob> {
  const slices: Blob[] = []
  return (await readSlices(file, (buffer) => slices.push(inMemory(buffer))))
    ? fileOf(slices, name, type)
    : file
}

/**
 * Reads a part once. Resolves to its bytes in memory and their digest, or to the part itself without one where a runtime can't read
 * files. A page that is being left can't read any file, so what can't be read is read again a moment later.
 *
 * @throws S3ClientError `FILE_UNREADABLE`
 */
export async function readPart(
  part: Blob,
  signal: AbortSignal,
): Promise<readonly [bytes: Blob, digest?: string]> {
  const slices: Blob[] = []
  const digest = await digestOf(part, signal, (buffer) => slices.push(inMemory(buffer)))
  return digest == null ? [part] : [fileOf(slices, 'part', ''), digest]
}

/** Resolves to the digest of a part, which is read as by `readPart`. `take` gets the bytes, slice by slice. */
export async function digestOf(
  part: Blob,
  signal: AbortSignal,
  take: (buffer: ArrayBuffer) => void = () => {},
): Promise<string | undefined> {
  const digest = createDigest()
  const isRead = await readSlices(
    part,
    (buffer) => {
      digest.add(buffer)
      take(buffer)
    },
    () => pause(signal, READ_AGAIN),
  )
  return isRead ? digest.text() : undefined
}

/** Calls `take` with slice after slice. Resolves to `false` where a runtime can't read files. Before a slice is read again, waits for `recover`. */
async function readSlices(
  file: Blob,
  take: (buffer: ArrayBuffer) => void,
  recover?: () => Promise<unknown>,
): Promise<boolean> {
  for (let at = 0; at === 0 || at < file.size; at += SLICE) {
    // Not an empty slice: in Chromium, a file that has been removed has a size of 0, and only reading it itself fails.
    const slice = file.size > SLICE ? file.slice(at, at + SLICE) : file
    const read = () => readBytes(slice)
    const buffer = (await (recover ? read().catch(() => recover().then(read)) : read())) as ArrayBuffer
    if (buffer.byteLength !== slice.size) return false
    take(buffer)
  }
  return true
}

/** Chromium sends the bytes of an ArrayBuffer ten times slower than those of a Blob. */
const inMemory = (buffer: ArrayBuffer) => new Blob([buffer])

/** Web views that send requests natively lose a body that is no `File`, such as Capacitor's. */
const fileOf = (slices: Blob[], name: string, type: string) =>
  typeof File === 'undefined' ? new Blob(slices) : new File(slices, name, { type })

/**
 * Reads a file in every runtime. Without a `FileReader` there is no DOM, and the file is the runtime's own. Resolves to the file
 * itself where it can't be read. Rejects with `FILE_UNREADABLE` if reading fails.
 */
export function readBytes(file: Blob): Promise<Blob | ArrayBuffer> {
  return new Promise<Blob | ArrayBuffer>((resolve, reject) => {
    try {
      // Not `arrayBuffer()`: older browsers lack it, and in Firefox it never settles for a file that was cut.
      const reader = new FileReader()
      reader.onload = () => resolve(reader.result as ArrayBuffer)
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- becomes the cause of the error
      reader.onerror = () => reject(reader.error)
      reader.readAsArrayBuffer(file)
    } catch {
      // Foreign, or in React Native, whose reader can't do this.
      resolve(file.arrayBuffer ? file.arrayBuffer() : file)
    }
  }).catch((cause: unknown) => {
    throw new S3ClientError('FILE_UNREADABLE', 'The file could not be read.', { cause })
  })
}
