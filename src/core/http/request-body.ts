import { concatenate, utf8Length } from '../bytes.js'
import { StorageError } from '../errors.js'
import { parseJson } from '../json.js'
import { isBuiltIn, isErrorNamed } from '../realms.js'

/** Maximum bytes of a JSON body, far more than any endpoint needs. */
const MAX_JSON_BYTES = 64 * 1024

/** The body of a request: an unread stream or, if a framework's body parser ran before, the parsed value. */
export type RequestBody = UnreadBody | { readonly kind: 'parsed'; readonly value: unknown }

export interface UnreadBody {
  readonly kind: 'stream'
  readonly open: () => ReadableStream<Uint8Array> | null
  /**
   * Reads the whole body in place of `open`, in a fraction of its time. Returns `null` as soon as it exceeds `maxBytes`. Rejects if
   * the body ends before it is complete.
   */
  readonly read?: (maxBytes: number) => Promise<Uint8Array | null>
  /** Whether the binding discards what is left of a body that was too long. Otherwise {@link discard} does. */
  readonly isDiscarded?: boolean
}

/** How much of a refused body is read. Clients may send all of it before they read the response. */
const MAX_DISCARDED = { bytes: 1024 ** 2, milliseconds: 500 }

/**
 * Reads the rest of a body up to a limit, and cancels it then. Never rejects.
 *
 * A stream of `Readable.toWeb` throws an uncaught error if it is cancelled while Node.js has chunks for it. So it is cancelled in
 * a turn of its own, in which the stream either waits for the network or has stopped reading.
 */
export async function discard(stream: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const cancel = () => void stream.cancel().catch(() => undefined)
  const timer = setTimeout(cancel, MAX_DISCARDED.milliseconds)
  let left = MAX_DISCARDED.bytes
  try {
    for (let next = await stream.read(); !next.done; next = await stream.read()) {
      left -= next.value.byteLength
      if (left < 0) return void setTimeout(cancel)
    }
  } catch {
    // The client has disconnected.
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the body of a `Request`. Its stream is opened only when the body is read. */
export function bodyOf(request: Request): RequestBody {
  if (request.bodyUsed) return { kind: 'parsed', value: undefined }
  return { kind: 'stream', open: () => request.body }
}

/** For a body whose bytes are gone, and whose value is unknown or of no use. */
export function consumedBody(): StorageError {
  return invalidBody(
    'Something in front of the library has read the body, such as a body parser or a logger. Mount the library in front of it.',
  )
}

export function invalidBody(message: string, cause?: unknown): StorageError {
  return new StorageError('VALIDATION_ERROR', { message, params: { field: 'body' }, cause })
}

/** How deep a value may be depends on the runtime's stack, so the message has no number. */
function nestedTooDeeply(): StorageError {
  return invalidBody('The body is nested too deeply.')
}

function bodyTooLong(maxBytes: number): StorageError {
  return invalidBody(`The body must be at most ${maxBytes} bytes.`)
}

function incompleteBody(cause: unknown): never {
  throw invalidBody('The body ended before it was complete.', cause)
}

/** Reads a stream to its end. @throws StorageError `VALIDATION_ERROR` (`body`) as soon as it exceeds `maxBytes`. */
export async function readBytes(
  stream: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = stream?.getReader()
  for (;;) {
    const next = await reader?.read().catch(incompleteBody)
    if (!reader || !next || next.done) break
    length += next.value.byteLength
    if (length > maxBytes) {
      void discard(reader)
      throw bodyTooLong(maxBytes)
    }
    chunks.push(next.value)
  }
  return concatenate(chunks)
}

function parseBody(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    throw isErrorNamed(error, 'RangeError') ? nestedTooDeeply() : invalidBody('The body must be valid JSON.')
  }
}

let utf8: InstanceType<typeof TextDecoder> | undefined

function decodeUtf8(bytes: Uint8Array): string {
  utf8 ??= new TextDecoder('utf-8', { fatal: true })
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalidBody('The body must be valid UTF-8.')
  }
}

/**
 * Returns the JSON object in a request's body.
 * @throws StorageError `VALIDATION_ERROR` (`body`) for another content type, more than 64 KiB, invalid JSON, or a value that isn't
 * an object.
 */
export async function readJsonObject(
  request: Request,
  body: RequestBody,
): Promise<Readonly<Record<string, unknown>>> {
  const mediaType = (request.headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase()
  if (mediaType !== 'application/json') {
    throw invalidBody('The body must have the content type application/json.')
  }
  const value = body.kind === 'parsed' ? checkParsed(body.value) : await readStream(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidBody('The body must be a JSON object.')
  }
  return value as Record<string, unknown>
}

async function readStream(body: UnreadBody): Promise<unknown> {
  const bytes = body.read
    ? await body.read(MAX_JSON_BYTES).catch(incompleteBody)
    : await readBytes(body.open(), MAX_JSON_BYTES)
  const rest = bytes === null && !body.isDiscarded ? body.open() : null
  if (rest && !rest.locked) void discard(rest.getReader())
  return parseBytes(bytes)
}

function parseBytes(bytes: Uint8Array | null): unknown {
  if (bytes === null || bytes.byteLength > MAX_JSON_BYTES) throw bodyTooLong(MAX_JSON_BYTES)
  return parseBody(decodeUtf8(bytes))
}

/** Checks the output of a body parser, which may be text or bytes. Parsers have limits of their own, so ours applies to their output. */
function checkParsed(value: unknown): unknown {
  if (value === undefined) throw consumedBody()
  if (isBuiltIn(value, 'Uint8Array')) return parseBytes(value)
  if (typeof value === 'string') {
    checkTextLength(value)
    return parseBody(value)
  }
  checkTextLength(toJson(value))
  return value
}

function checkTextLength(text: string): void {
  // A UTF-16 unit is one to three bytes of UTF-8.
  if (text.length * 3 <= MAX_JSON_BYTES) return
  if (text.length > MAX_JSON_BYTES || utf8Length(text) > MAX_JSON_BYTES) throw bodyTooLong(MAX_JSON_BYTES)
}

/** A parser may return values that JSON doesn't have, such as a `BigInt`. */
function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch (error) {
    throw isErrorNamed(error, 'RangeError')
      ? nestedTooDeeply()
      : invalidBody('The body must be a JSON object.')
  }
}
