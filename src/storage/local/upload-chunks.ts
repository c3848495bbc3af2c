import type { RequestBody } from '../../core/http/request-body.js'
import { StorageError } from '../../core/errors.js'
import type { WriteTurn } from './write-turns.js'

/**
 * Yields the body of an upload, reading on demand and no further than `size` bytes require. Stops when another request
 * takes over.
 *
 * @throws StorageError `VALIDATION_ERROR` (`body`), while reading, unless the body has exactly `size` bytes; if it breaks
 * off; or if a body parser has already consumed it.
 */
export async function* uploadChunks(
  body: RequestBody,
  size: number,
  turn: WriteTurn,
): AsyncGenerator<Uint8Array, void> {
  const chunks = body.kind === 'parsed' ? [parsedBytes(body.value)] : streamChunks(body.open(), turn)
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.byteLength
    if (length > size) break
    yield chunk
  }
  if (length !== size) throw wrongLength(size)
}

/** Builds the error for a body that does not have the signed number of bytes. */
export function wrongLength(size: number): StorageError {
  return invalidBody(`The body must have exactly ${size} bytes, the size this URL is signed for.`)
}

/** A raw parser keeps the bytes. From the result of any other parser, they can't be recovered. */
function parsedBytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw invalidBody('A body parser has already consumed the body. Mount the server before body parsers.')
}

async function* streamChunks(
  stream: ReadableStream<Uint8Array> | null,
  turn: WriteTurn,
): AsyncGenerator<Uint8Array, void> {
  if (!stream) return
  const reader = stream.getReader()
  // Not awaited, to respond before the rest of the body is discarded. After the end of the stream, this does nothing.
  const cancel = () => void reader.cancel().catch(() => undefined)
  turn.signal.addEventListener('abort', cancel)
  try {
    for (;;) {
      const next = await turn.waitFor(reader.read()).catch((cause: unknown) => {
        throw invalidBody('The body could not be read completely.', cause)
      })
      turn.signal.throwIfAborted()
      if (next.done) return
      await turn.keep()
      yield next.value
    }
  } finally {
    turn.signal.removeEventListener('abort', cancel)
    cancel()
  }
}

function invalidBody(message: string, cause?: unknown): StorageError {
  return new StorageError('VALIDATION_ERROR', { message, params: { field: 'body' }, cause })
}
