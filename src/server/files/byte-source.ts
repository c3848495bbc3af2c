import { isBuiltIn } from '../../core/realms.js'
import { invalid, shown } from '../../core/store/validation/checks.js'
import { mismatch } from '../attempts/errors.js'
import type { Parts } from '../attempts/parts.js'
import { asCaller, type WaitFor } from './caller.js'
import { partInMemory, type PartInMemory } from './part-memory.js'

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
  const bytes = isBuiltIn(body, 'ArrayBuffer') ? new Uint8Array(body) : body
  if (isBuiltIn(bytes, 'Uint8Array')) return sourceOfChunks(bytes.byteLength, [bytes].values())
  if (typeof body !== 'object' || body === null) throw wrongKind(body)
  if (hasAll<Blob>(body, 'stream', 'arrayBuffer', 'size', 'type')) {
    const { size, type } = body
    return {
      ...sourceOfStream(() => body.stream().getReader()),
      size,
      contentType: type === '' ? null : type,
    }
  }
  if (hasAll<ReadableStream<Uint8Array>>(body, 'getReader', 'locked')) {
    if (body.locked) throw invalid('body', 'must not be locked: another reader has the stream.')
    const reader = body.getReader()
    return sourceOfStream(() => reader)
  }
  if (hasAll<AsyncIterable<Uint8Array>>(body, Symbol.asyncIterator)) return sourceOfIterable(body)
  throw wrongKind(body)
}

function wrongKind(body: unknown): Error {
  return invalid(
    'body',
    `must be a Blob, Uint8Array, ArrayBuffer, string, ReadableStream or AsyncIterable (got ${shown(body)}).`,
  )
}

/** Not `instanceof`: polyfills have classes of their own. */
function hasAll<Body extends object>(body: object, ...names: readonly (keyof Body)[]): body is Body {
  return names.every((name) => name in body)
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
  // Node.js ends the process if a stream fails and nothing listens, such as after a refused put. A read rejects all the same.
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
 * Yields the parts of a body once they are complete, at least one. The caller must release each part.
 * @throws StorageError `UPLOAD_MISMATCH` unless the body has exactly `size` bytes.
 */
export async function* bodyParts(
  source: ByteSource,
  size: number,
  parts: Parts,
  waitFor: WaitFor,
): AsyncGenerator<PartInMemory, void> {
  let rest: Uint8Array | null = new Uint8Array()
  let loaded = 0

  /** Returns bytes that are in no part yet; none at the end of the body. */
  async function nextBytes(): Promise<Uint8Array> {
    while (rest?.byteLength === 0) {
      rest = await waitFor(source.next())
      loaded += rest?.byteLength ?? 0
    }
    if (loaded > size) throw mismatch(`The body is longer than its size of ${size} bytes.`)
    if (!rest && loaded < size) throw mismatch(`The body has ended after ${loaded} of ${size} bytes.`)
    return rest ?? new Uint8Array()
  }

  for (let number = 1; number <= parts.count; number++) {
    // Waits for the first bytes without memory.
    await nextBytes()
    const part = partInMemory(parts.sizeOf(number))
    try {
      await waitFor(part.ready)
      for (let filled = 0; filled < part.size;) {
        const bytes = await nextBytes()
        const piece = bytes.subarray(0, part.size - filled)
        part.bytes.set(piece, filled)
        part.touch()
        filled += piece.byteLength
        rest = bytes.subarray(piece.byteLength)
      }
      if (number === parts.count) await nextBytes()
    } catch (error) {
      part.release(true)
      throw error
    }
    yield part
  }
}
