import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { types } from 'node:util'
import type { PlainHandler } from '../../core/http/handler.js'
import type { RequestBody } from '../../core/http/request-body.js'
import type { PlainResponse } from '../../core/http/response.js'
import { discardBody, failWithReason, streamOf, whenOver, type StartedBody } from './response.js'

/** A request and what a binding knows about it. */
export interface NodeExchange {
  readonly request: Request
  /** The message, or a stream that the framework has put in its place. */
  readonly message: Readable
  readonly response: ServerResponse
  /** The library's base path as it appears in the URL of the request. */
  readonly basePath: string
  /** The value that a body parser has set, if any. */
  readonly parsed?: unknown
}

/** Runs the library's handler with the body of a message. @throws unexpected errors. */
export function respond(handler: PlainHandler, exchange: NodeExchange): Promise<PlainResponse> {
  const { request, basePath } = exchange
  return handler(request, { basePath, body: incomingBody(exchange), trailingSlash: false })
}

/** Returns the unread body, or the value of a parser, unless the body is empty: then the parser hasn't read anything. */
function incomingBody({ message, response, parsed }: NodeExchange): RequestBody {
  const isRead = isReadBefore(message, parsed)
  // Another listener has started the flow. Pausing it keeps the bytes until the library reads, when both receive them.
  if (!isRead && message.readableFlowing) message.pause()

  const fail = failWithReason(response)
  let chunks: MessageChunks | undefined
  let opened: ReadableStream<Uint8Array> | undefined
  function open(): ReadableStream<Uint8Array> {
    // Not `Readable.toWeb`, which destroys the message, and so the connection, if a body that is too large is cancelled.
    const source = (chunks ??= message.iterator({ destroyOnReturn: false }) as MessageChunks)
    return (opened ??= streamOf(async () => {
      const { done, value } = await source.next().catch(fail)
      return done ? undefined : bufferOf(value, message)
    }))
  }
  discardBody(response, async () => chunks?.return())
  return isRead
    ? { kind: 'parsed', value: parsed }
    : {
        kind: 'stream',
        open,
        read: (maxBytes) => wholeBody(message, maxBytes).catch(fail),
        isDiscarded: true,
      }
}

/** Mocks of messages have no stream, or one that has ended before anything was read, and a value. */
function isReadBefore(message: Readable & Partial<Readable>, parsed: unknown): boolean {
  if (!message.iterator || message.readableDidRead) return true
  return !message.readable && Boolean((parsed as { readonly length?: number } | null | undefined)?.length)
}

/** Returns what was read of the body: the bytes, which some parsers and platforms keep beside it, or else a parser's value. */
export function parsedIn(...carriers: readonly object[]): unknown {
  const found = (name: string) => carriers.map((carrier) => Reflect.get(carrier, name) as unknown)
  const values = [...found('body'), ...found('rawBody')]
  return (
    values.find((value) => types.isUint8Array(value)) ??
    values.find((value) => value !== undefined && value !== null)
  )
}

/** As Node.js reports it. */
const PREMATURE = { code: 'ERR_STREAM_PREMATURE_CLOSE' }

type MessageChunks = AsyncGenerator<Buffer | string, void>

/** Reads a stream, or returns `null` beyond `maxBytes`. Pulls, because a `data` listener gets nothing if another listener pulls. */
export function wholeBody(message: Readable, maxBytes: number): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const listeners = { readable: pull, end, error: fail, close: fail }

    function stop(): void {
      for (const [event, listener] of Object.entries(listeners)) message.off(event, listener)
    }

    function end(): void {
      stop()
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length))
    }

    function fail(error = message.errored): void {
      stop()
      reject(error ?? Object.assign(new Error('The stream was closed before its end.'), PREMATURE))
    }

    function pull(): void {
      for (let chunk = next(message); chunk; chunk = next(message)) {
        chunks.push(chunk)
        length += chunk.length
        if (length > maxBytes) {
          stop()
          return resolve(null)
        }
      }
    }

    if (message.readableEnded) return end()
    if (message.destroyed) return fail()
    for (const [event, listener] of Object.entries(listeners)) message.on(event, listener)
    pull()
  })
}

function next(message: Readable): Buffer | null {
  const chunk = message.read() as Buffer | string | null
  return chunk === null ? null : bufferOf(chunk, message)
}

/** Returns a chunk without copying bytes. It is a string if middleware has set an encoding of its stream. */
export function bufferOf(chunk: string | Uint8Array, stream?: Readable): Buffer {
  return typeof chunk === 'string'
    ? Buffer.from(chunk, stream?.readableEncoding ?? 'utf8')
    : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}

/** Returns the body as a stream for a framework to pipe into the response. */
export function bodyStream(body: StartedBody, response: ServerResponse): Readable {
  const stream = new Readable({
    read() {
      body.read().then(
        // If another handler has ended the response, a write would be an uncaught error.
        (chunk) => this.push(response.writableEnded ? null : (chunk ?? null)),
        (error: Error) => this.destroy(error),
      )
    },
    destroy(error, done) {
      body.cancel()
      done(error)
    },
  })
  // Koa 2 doesn't end a response whose body fails halfway, so the client would wait forever.
  stream.on('error', () => {
    if (response.headersSent) response.destroy()
  })
  whenOver(response, () => stream.destroy())
  return stream
}
