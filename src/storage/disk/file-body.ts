import type { FileHandle } from 'node:fs/promises'
import type { OpenBytes } from '../signed-urls/byte-shelf.js'

/** Bytes that are read at a time. */
const CHUNK_BYTES = 64 * 1024

/**
 * The first `size` bytes of a file, whose closing is this function's business from now on. What one read gets is read at
 * once, so that nothing stays open for an answer that nobody reads; everything larger is a stream.
 */
export async function bodyOfFile(file: FileHandle, size: number): Promise<OpenBytes['body']> {
  if (size > CHUNK_BYTES) return streamOfFile(file, size)
  try {
    return await readChunk(file, 0, size)
  } finally {
    await file.close()
  }
}

/** Read only as fast as it is asked for. Closes the file at its end, when nobody wants the rest, and when reading fails. */
function streamOfFile(file: FileHandle, size: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let position = 0
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        try {
          const chunk = await readChunk(file, position, Math.min(CHUNK_BYTES, size - position))
          position += chunk.byteLength
          controller.enqueue(chunk)
          if (position < size) return
          await file.close()
          controller.close()
        } catch (error) {
          await file.close()
          throw error
        }
      },
      cancel: () => file.close(),
    },
    // Nothing is read ahead of the one who asks.
    { highWaterMark: 0 },
  )
}

/** All of so many bytes; a file that has fewer by now fails. */
async function readChunk(
  file: FileHandle,
  position: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunk = new Uint8Array(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(chunk, filled, length - filled, position + filled)
    if (bytesRead === 0) throw new Error('The file of an object has become shorter.')
    filled += bytesRead
  }
  return chunk
}
