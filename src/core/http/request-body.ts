import { StorageError } from '../errors.js'

/** The most bytes of a JSON body; far above what any endpoint takes. */
const MAX_JSON_BYTES = 64 * 1024

/**
 * How the bytes of a request reach the library: as a stream that nobody has read yet, or, where a framework's body
 * parser came first, as the value that it made of them.
 */
export type RequestBody =
  | { readonly kind: 'stream'; readonly open: () => ReadableStream<Uint8Array> | null }
  | { readonly kind: 'parsed'; readonly value: unknown }

/** The body of a plain `Request`, opened only when it is read. */
export function bodyOf(request: Request): RequestBody {
  return { kind: 'stream', open: () => request.body }
}

function invalidBody(message: string): StorageError {
  return new StorageError('VALIDATION_ERROR', { message, params: { field: 'body' } })
}

/** Reads a stream to its end. @throws StorageError `VALIDATION_ERROR` (`body`) as soon as it is longer than `maxBytes`. */
export async function readBytes(
  stream: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = stream?.getReader()
  for (;;) {
    const next = await reader?.read().catch((cause: unknown) => {
      throw new StorageError('VALIDATION_ERROR', {
        message: 'The body could not be read to its end.',
        params: { field: 'body' },
        cause,
      })
    })
    if (!next || next.done) break
    length += next.value.byteLength
    if (length > maxBytes) {
      // The caller answers without the rest; a failure to cancel changes nothing about that answer.
      void reader?.cancel().catch(() => undefined)
      throw invalidBody(`The body must not be longer than ${maxBytes} bytes.`)
    }
    chunks.push(next.value)
  }
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.byteLength
  }
  return bytes
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidBody('The body is not valid JSON.')
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalidBody('The body is not valid UTF-8.')
  }
}

/**
 * The JSON object in a request's body.
 * @throws StorageError `VALIDATION_ERROR` (`body`) for another content type, over 64 KiB, bad JSON, or no object.
 */
export async function readJsonObject(
  request: Request,
  body: RequestBody,
): Promise<Readonly<Record<string, unknown>>> {
  const mediaType = (request.headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase()
  if (mediaType !== 'application/json') {
    throw invalidBody('The body must be sent as Content-Type: application/json.')
  }
  const value = body.kind === 'parsed' ? checkParsed(body.value) : await readStream(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidBody('The body must be a JSON object.')
  }
  return value as Record<string, unknown>
}

async function readStream(body: Extract<RequestBody, { kind: 'stream' }>): Promise<unknown> {
  return parseJson(decodeUtf8(await readBytes(body.open(), MAX_JSON_BYTES)))
}

/** A parser may hand on the text or the bytes it read; and it has its own limit, so ours is measured on what it made. */
function checkParsed(value: unknown): unknown {
  if (value instanceof Uint8Array) {
    if (value.byteLength > MAX_JSON_BYTES)
      throw invalidBody(`The body must not be longer than ${MAX_JSON_BYTES} bytes.`)
    return parseJson(decodeUtf8(value))
  }
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  if (new TextEncoder().encode(text).byteLength > MAX_JSON_BYTES) {
    throw invalidBody(`The body must not be longer than ${MAX_JSON_BYTES} bytes.`)
  }
  return typeof value === 'string' ? parseJson(value) : value
}
