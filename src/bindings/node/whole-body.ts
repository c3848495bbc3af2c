import type { Readable } from 'node:stream'

/**
 * Reads the rest of a stream without the cost of a web stream. Returns `null` as soon as it exceeds `maxBytes`. Rejects if the
 * stream fails or ends early.
 *
 * Pulls the chunks, because a `data` listener would receive none if another listener pulls them.
 */
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
      reject(error ?? new Error('The stream was closed before its end.'))
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
  // Middleware may have set an encoding.
  return typeof chunk === 'string' ? Buffer.from(chunk, message.readableEncoding!) : chunk
}
