import type { FileHandle } from 'node:fs/promises'
import type { OpenBytes } from '../local/contract.js'

/** Bytes per read. */
const CHUNK_BYTES = 64 * 1024

/**
 * Returns the bytes of a file from `start` to before `end`, and takes over closing it. A small file is read at once, so it does not stay
 * open while a response waits to be read. A larger one becomes a stream.
 */
export async function bodyOfFile(file: FileHandle, start: number, end: number): Promise<OpenBytes['body']> {
  if (end - start > CHUNK_BYTES) return streamOfFile(file, start, end)
  try {
    return await readChunk(file, start, end - start)
  } finally {
    await file.close()
  }
}

/** Returns a stream that reads on demand. It closes the file at the end, when it is cancelled, and on an error. */
function streamOfFile(file: FileHandle, start: number, end: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let position = start
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
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
      cancel: () => file.close(),
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
