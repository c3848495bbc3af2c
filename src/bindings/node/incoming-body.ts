import type { IncomingMessage } from 'node:http'
import type { RequestBody } from '../../core/http/request-body.js'

/** The body of a message for the library, and the end of its reading. */
export interface IncomingBody {
  readonly body: RequestBody
  /** To be called when the response is over: lets go of the stream, so that the connection can serve another request. */
  readonly release: () => void
}

/**
 * The body as a stream nobody has read, opened only on demand, or as the value that a parser has left in its place. What
 * a parser makes of an empty body doesn't count: nothing was taken from it.
 */
export function incomingBody(message: IncomingMessage, parsed: unknown): IncomingBody {
  if (message.readableDidRead) {
    return { body: { kind: 'parsed', value: parsed }, release: () => discardRest(message) }
  }
  // Somebody listens, and the bytes would be gone by the time the library wants them; both get them once it reads.
  if (message.readableFlowing) message.pause()

  let opened: OpenedBody | undefined
  return {
    body: { kind: 'stream', open: () => (opened ??= open(message)).readable },
    release: () => (opened ? opened.release() : discardRest(message)),
  }
}

interface OpenedBody {
  readonly readable: ReadableStream<Uint8Array>
  readonly release: () => void
}

/**
 * Not `Readable.toWeb`: when its stream is cancelled, as after the first bytes too many, it destroys the message and
 * with it the connection on which the answer should go.
 */
function open(message: IncomingMessage): OpenedBody {
  const chunks = message.iterator({ destroyOnReturn: false }) as AsyncGenerator<Buffer | string, void>
  const release = () => void chunks.return().then(() => discardRest(message))
  const readable = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) return controller.close()
        // A middleware may have set an encoding.
        controller.enqueue(typeof value === 'string' ? Buffer.from(value, message.readableEncoding!) : value)
      },
    },
    { highWaterMark: 0 },
  )
  return { readable, release }
}

/** The client gets to read the answer only after it has sent all of its body, and the next request comes after it. */
function discardRest(message: IncomingMessage): void {
  if (!message.readableEnded && !message.destroyed) message.resume()
}
