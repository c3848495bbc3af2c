import { concatenate, utf8Length } from '../bytes.js'
import { refusalOf, StorageError } from '../errors.js'
import { parseJson } from '../json.js'
import { isBuiltIn, isErrorNamed } from '../realms.js'

/** Maximum bytes of a JSON body, far more than any endpoint needs. */
const MAX_JSON_BYTES = 64 * 1024

/** The body of a request: an unread stream or, if a framework's body parser ran before, the parsed value. */
export type RequestBody = UnreadBody | { readonly kind: 'parsed'; readonly value: unknown }

export interface UnreadBody {
  readonly kind: 'stream'
  readonly open: () => ReadableStream<Uint8Array> | null
  /** Reads the body in a fraction of the time of `open`, up to `maxBytes`: `null` beyond. Rejects if the body is incomplete. */
  readonly read?: (maxBytes: number) => Promise<Uint8Array | null>
  /** Whether the binding discards what is left of a body that was too long. Otherwise {@link discard} does. */
  readonly isDiscarded?: boolean
}

/** How much of a refused body is read. Clients may send all of it before they read the response. */
const MAX_DISCARDED = { bytes: 1024 ** 2, milliseconds: 500 }

/** Cancels in a separate turn, because a stream of `Readable.toWeb` throws an uncaught error while Node.js has chunks for it. */
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

export function bodyOf(request: Request): RequestBody {
  if (request.bodyUsed) return { kind: 'parsed', value: undefined }
  return { kind: 'stream', open: () => request.body }
}

export function consumedBody(): StorageError {
  return invalidBody(
    'Something in front of the library has read the body, such as a body parser or a logger. Mount the library in front of it.',
  )
}

export function invalidBody(message: string, cause?: unknown): StorageError {
  return new StorageError('VALIDATION_ERROR', { message, params: { field: 'body' }, cause })
}

/** How deep a value may be depends on the runtime's stack, so the message has no number. */
function converted<T>(convert: () => T, otherwise: string): T {
  try {
    return convert()
  } catch (error) {
    throw invalidBody(isErrorNamed(error, 'RangeError') ? 'The body is nested too deeply.' : otherwise)
  }
}

function bodyTooLong(maxBytes: number): StorageError {
  return invalidBody(`The body must be at most ${maxBytes} bytes.`)
}

/** What {@link unreadableBody} has made. */
const unreadable = new WeakSet<StorageError>()

/** Returns an error for what the stream of a body throws, with the status of a framework that limits bodies itself. */
export function unreadableBody(
  cause: unknown,
  message = 'The body ended before it was complete.',
): StorageError {
  const { status, statusCode } = Object(cause) as Partial<Record<'status' | 'statusCode', unknown>>
  const isLimit = Number(status ?? statusCode) === 413
  const tooLong = 'The server accepts no body of this size. A limit in front of the library is lower.'
  const error = isLimit
    ? new StorageError('FILE_TOO_LARGE', { message: tooLong, cause })
    : (refusalOf(cause) ?? invalidBody(message, cause))
  unreadable.add(error)
  return error
}

/** What Node.js and browsers call the end of a connection. */
const DISCONNECTED = ['AbortError', 'ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE']

/** What Node.js calls the end of a request that its own server has ended. */
const ENDED_BY_SERVER = 'ERR_HTTP_REQUEST_TIMEOUT'

/** Returns whether the stream of a body failed for another reason than that the client has gone, so that an operator should know. */
export function isFailedBody(error: StorageError, { signal }: Partial<Pick<Request, 'signal'>>): boolean {
  if (!unreadable.has(error)) return false
  const { name, code } = Object(error.cause) as { readonly name?: string; readonly code?: string }
  if (code === ENDED_BY_SERVER) return true
  if (signal?.aborted) return false
  return !DISCONNECTED.includes(String(name)) && !DISCONNECTED.includes(String(code))
}

function incompleteBody(cause: unknown): never {
  throw unreadableBody(cause)
}

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
  return converted(() => parseJson(text), 'The body must be valid JSON.')
}

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

let utf8: InstanceType<typeof TextDecoder> | undefined

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
  const decoder = (utf8 ??= new TextDecoder('utf-8', { fatal: true }))
  return parseBody(converted(() => decoder.decode(bytes), 'The body must be valid UTF-8.'))
}

/** Checks the output of a body parser, which may be text or bytes. Parsers have limits of their own, so ours applies to their output. */
function checkParsed(value: unknown): unknown {
  if (value === undefined) throw consumedBody()
  if (isBuiltIn(value, 'Uint8Array')) return parseBytes(value)
  if (typeof value === 'string') {
    checkTextLength(value)
    return parseBody(value)
  }
  // A parser may return values that JSON doesn't have, such as a `BigInt`.
  checkTextLength(converted(() => JSON.stringify(value) ?? '', 'The body must be a JSON object.'))
  return value
}

function checkTextLength(text: string): void {
  // A UTF-16 unit is one to three bytes of UTF-8.
  if (text.length * 3 <= MAX_JSON_BYTES) return
  if (text.length > MAX_JSON_BYTES || utf8Length(text) > MAX_JSON_BYTES) throw bodyTooLong(MAX_JSON_BYTES)
}
