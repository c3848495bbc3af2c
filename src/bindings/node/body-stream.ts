import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { StartedBody } from './response-body.js'
import { whenOver } from './response-over.js'

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
