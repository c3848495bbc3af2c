import type { RequestBody } from '../../core/http/request-body.js'
import { StorageError } from '../../core/errors.js'

/**
 * The body of an upload that must have just `size` bytes, chunk by chunk, read no faster than it is consumed and no
 * further than it must be.
 *
 * @throws StorageError `VALIDATION_ERROR` (`body`), while it is read, for any other number of bytes, a body that breaks
 * off, and one of which a parser has left something else than its bytes.
 */
export async function* uploadChunks(body: RequestBody, size: number): AsyncGenerator<Uint8Array, void> {
  const chunks = body.kind === 'parsed' ? [parsedBytes(body.value)] : streamChunks(body.open())
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.byteLength
    if (length > size) break
    yield chunk
  }
  if (length !== size) throw otherLength(size)
}

/** The refusal of a body that hasn't the signed number of bytes. */
export function otherLength(size: number): StorageError {
  return invalidBody(`The body must have the ${size} bytes that were signed.`)
}

/** A raw parser keeps the bytes; of what any other one made of them they can't be had back. */
function parsedBytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw invalidBody('A body parser has consumed the bytes of this upload; mount the server before it.')
}

async function* streamChunks(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array, void> {
  if (!stream) return
  const reader = stream.getReader()
  try {
    for (;;) {
      const next = await reader.read().catch((cause: unknown) => {
        throw invalidBody('The body could not be read to its end.', cause)
      })
      if (next.done) return
      yield next.value
    }
  } finally {
    // The answer doesn't wait for the rest to be given up; after the end of the stream this does nothing.
    void reader.cancel().catch(() => undefined)
  }
}

function invalidBody(message: string, cause?: unknown): StorageError {
  return new StorageError('VALIDATION_ERROR', { message, params: { field: 'body' }, cause })
}
