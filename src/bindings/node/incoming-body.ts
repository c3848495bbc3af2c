import type { Readable } from 'node:stream'
import type { RequestBody } from '../../core/http/request-body.js'
import { wholeBody } from './whole-body.js'

/** The body of a message for the library. */
export interface IncomingBody {
  readonly body: RequestBody
  /** Call when the response is over. Releases the stream, so the connection can serve the next request. */
  readonly release: () => void
}

/**
 * Returns the body as an unread stream, opened or read on demand, or as the value that a body parser has set. If the body is empty,
 * the parser hasn't read anything, and its value is ignored.
 */
export function incomingBody(message: Readable, parsed: unknown): IncomingBody {
  if (message.readableDidRead) {
    return { body: { kind: 'parsed', value: parsed }, release: () => discardRest(message) }
  }
  // Another listener has started the flow. Pausing it keeps the bytes until the library reads, when both receive them.
  if (message.readableFlowing) message.pause()

  let opened: OpenedBody | undefined
  return {
    body: {
      kind: 'stream',
      open: () => (opened ??= open(message)).readable,
      read: (maxBytes) => wholeBody(message, maxBytes),
    },
    release: () => (opened ? opened.release() : discardRest(message)),
  }
}

interface OpenedBody {
  readonly readable: ReadableStream<Uint8Array>
  readonly release: () => void
}

/**
 * Opens the body as a web stream. Not `Readable.toWeb`, which destroys the message when the stream is cancelled, for example
 * because the body is too large, and with it the connection for the response.
 */
function open(message: Readable): OpenedBody {
  const chunks = message.iterator({ destroyOnReturn: false }) as AsyncGenerator<Buffer | string, void>
  const release = () => void chunks.return().then(() => discardRest(message))
  const readable = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) return controller.close()
        // Middleware may have set an encoding.
        controller.enqueue(typeof value === 'string' ? Buffer.from(value, message.readableEncoding!) : value)
      },
    },
    { highWaterMark: 0 },
  )
  return { readable, release }
}

/** Reads and discards the rest, because clients may send all of the body before they read the response. */
function discardRest(message: Readable): void {
  if (!message.readableEnded && !message.destroyed) message.resume()
}
