import { isBuiltIn } from '../../core/realms.js'
import { invalid, shown } from '../../core/store/validation/checks.js'
import { mismatch } from '../attempts/attempt.js'
import { asCaller, type WaitFor } from './caller.js'

/** A body whose size is known. A string is encoded as UTF-8. */
export type SizedBody = Blob | Uint8Array | ArrayBuffer | string

/** A body that is read once. A Node.js stream is an `AsyncIterable`. */
export type StreamedBody = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>

/** The bytes of a body, read on demand. */
export interface ByteSource {
  /** Bytes; `null` if only the end of the body shows it. */
  readonly size: number | null
  /** The media type of a `Blob`, if it has one. */
  readonly contentType: string | null
  /** Returns the next chunk, or `null` at the end. @throws CallerError if the body fails. */
  next(): Promise<Uint8Array | null>
  /** Tells the body that no more bytes are needed. Never throws and never waits. */
  stop(reason: unknown): void
}

/** Returns the bytes of a body. Reads nothing yet. @throws StorageError `VALIDATION_ERROR` (`body`) */
export function byteSource(body: unknown): ByteSource {
  if (typeof body === 'string') return sourceOfText(body)
  if (isBuiltIn(body, 'Uint8Array')) return sourceOfBytes(body)
  if (isBuiltIn(body, 'ArrayBuffer')) return sourceOfBytes(new Uint8Array(body))
  if (typeof body !== 'object' || body === null) throw wrongKind(body)
  if (isBlob(body)) {
    const { size, type } = body
    return {
      ...sourceOfStream(() => body.stream().getReader()),
      size,
      contentType: type === '' ? null : type,
    }
  }
  if (isStream(body)) {
    if (body.locked) throw invalid('body', 'must not be locked: another reader has the stream.')
    const reader = body.getReader()
    return sourceOfStream(() => reader)
  }
  if (isAsyncIterable(body)) return sourceOfIterable(body)
  throw wrongKind(body)
}

function wrongKind(body: unknown): Error {
  return invalid(
    'body',
    `must be a Blob, Uint8Array, ArrayBuffer, string, ReadableStream or AsyncIterable (got ${shown(body)}).`,
  )
}

function isBlob(body: object): body is Blob {
  return 'stream' in body && 'arrayBuffer' in body && 'size' in body && 'type' in body
}

function isStream(body: object): body is ReadableStream<Uint8Array> {
  return 'getReader' in body && 'locked' in body
}

interface NodeStream {
  destroy(): void
  on(event: 'error', listener: () => void): void
}

function isDestroyable(body: object): body is Pick<NodeStream, 'destroy'> {
  return 'destroy' in body && typeof body.destroy === 'function'
}

function isNodeStream(body: object): body is NodeStream {
  return isDestroyable(body) && 'on' in body && typeof body.on === 'function'
}

function isAsyncIterable(body: object): body is AsyncIterable<Uint8Array> {
  return Symbol.asyncIterator in body
}

function sourceOfBytes(bytes: Uint8Array): ByteSource {
  return sourceOfChunks(bytes.byteLength, [bytes].values())
}

function sourceOfChunks(size: number, chunks: Iterator<Uint8Array, void>): ByteSource {
  return { size, contentType: null, next: async () => chunks.next().value ?? null, stop: () => undefined }
}

/** UTF-16 units that are encoded at once. */
const TEXT_UNITS = 64 * 1024

function sourceOfText(text: string): ByteSource {
  let size = 0
  for (const chunk of encoded(text)) size += chunk.byteLength
  return sourceOfChunks(size, encoded(text))
}

/** Encodes a text in pieces, without splitting a character. */
function* encoded(text: string): Generator<Uint8Array, void> {
  const encoder = new TextEncoder()
  for (let start = 0; start < text.length;) {
    const isSplit = (text.codePointAt(start + TEXT_UNITS - 1) ?? 0) > 0xffff
    const end = start + TEXT_UNITS - (isSplit ? 1 : 0)
    yield encoder.encode(text.slice(start, end))
    start = end
  }
}

function sourceOfStream(open: () => ReadableStreamDefaultReader<Uint8Array>): ByteSource {
  let reader: ReadableStreamDefaultReader<Uint8Array> | null = null
  const opened = () => (reader ??= open())
  return {
    ...sourceOfReads(() => opened().read()),
    stop(reason) {
      void opened()
        .cancel(reason)
        .catch(() => undefined)
    },
  }
}

function sourceOfIterable(body: AsyncIterable<Uint8Array>): ByteSource {
  // Node.js ends the process if a stream fails while nothing listens: before the first read, or after a refused put. A read
  // still rejects with the error.
  if (isNodeStream(body)) body.on('error', () => undefined)
  let iterator: AsyncIterator<Uint8Array> | null = null
  const opened = () => (iterator ??= body[Symbol.asyncIterator]())
  return {
    ...sourceOfReads(() => opened().next()),
    stop() {
      void asCaller(() => opened().return?.()).catch(() => undefined)
      // The iterator of a Node.js stream ignores `return` before it has started and while it waits.
      if (isDestroyable(body)) body.destroy()
    },
  }
}

/** Returns the part of a source that streams and iterables have in common. */
function sourceOfReads(read: () => Promise<{ done?: boolean; value?: unknown }>): Omit<ByteSource, 'stop'> {
  return {
    size: null,
    contentType: null,
    async next() {
      const next = await asCaller(read)
      return next.done ? null : checkChunk(next.value)
    },
  }
}

function checkChunk(chunk: unknown): Uint8Array {
  if (isBuiltIn(chunk, 'Uint8Array')) return chunk
  throw invalid('body', `must yield Uint8Array chunks (got ${shown(chunk)}).`)
}

/**
 * Yields the parts of a body, each of `partSize` bytes except the last. The last part comes once the body has ended, so a body of
 * another size never yields it. A body of 0 bytes has one empty part.
 *
 * The parts share two buffers: a part is overwritten while the part after the next one is being read.
 *
 * @throws StorageError `UPLOAD_MISMATCH` unless the body has exactly `size` bytes.
 */
export async function* bodyParts(
  source: ByteSource,
  size: number,
  partSize: number,
  waitFor: WaitFor,
): AsyncGenerator<Uint8Array, void> {
  let [buffer, spare] = [new Uint8Array(Math.min(size, partSize)), new Uint8Array(0)]
  let loaded = 0
  let filled = 0
  for (let chunk = await waitFor(source.next()); chunk; chunk = await waitFor(source.next())) {
    loaded += chunk.byteLength
    if (loaded > size) throw mismatch(`The body is longer than its size of ${size} bytes.`)
    while (chunk.byteLength > 0) {
      if (filled === partSize) {
        yield buffer
        ;[buffer, spare] = [spare.byteLength > 0 ? spare : new Uint8Array(partSize), buffer]
        filled = 0
      }
      const piece: Uint8Array = chunk.subarray(0, partSize - filled)
      buffer.set(piece, filled)
      filled += piece.byteLength
      chunk = chunk.subarray(piece.byteLength)
    }
  }
  if (loaded < size) throw mismatch(`The body has ended after ${loaded} of ${size} bytes.`)
  yield buffer.subarray(0, filled)
}
