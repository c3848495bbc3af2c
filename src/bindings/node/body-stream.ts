import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { BegunBody } from './response-body.js'
import { whenOver } from './response-over.js'

/** A body as a stream that a framework pipes into the response. */
export function bodyStream(body: BegunBody, response: ServerResponse): Readable {
  const stream = new Readable({
    read() {
      body.read().then(
        // Where another handler has ended the response in the meantime, a write would be an error that nobody catches.
        (piece) => this.push(response.writableEnded ? null : (piece ?? null)),
        (error: Error) => this.destroy(error),
      )
    },
    destroy(error, done) {
      body.cancel()
      done(error)
    },
  })
  // Koa 2 leaves a response whose body has failed half-way as it is, and its client waiting for ever.
  stream.on('error', () => {
    if (response.headersSent) response.destroy()
  })
  whenOver(response, () => stream.destroy())
  return stream
}
