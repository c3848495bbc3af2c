import type { ServerResponse } from 'node:http'
import { beginBody, type BegunBody } from './response-body.js'
import { setHeaders } from './response-headers.js'
import { isOver, whenOver } from './response-over.js'

/**
 * Sends a response; resolves when all of it is handed over. Headers that were set before stay unless the response has
 * them too. Where another handler, such as a timeout, has answered in the meantime, its answer stands.
 *
 * The response is ended for a client that has left, too: middleware may wait for that, as sessions do to be saved.
 *
 * @throws what the body fails with. Nothing has been sent if that comes before its first bytes; later the connection is
 * cut, because there is no other way left to tell the client.
 */
export async function sendResponse(source: Response, target: ServerResponse): Promise<void> {
  if (!source.body || target.req.method === 'HEAD') {
    await source.body?.cancel()
    if (!target.headersSent) setHead(source, target).end()
    return
  }
  const body = await beginBody(source, target)
  if (target.headersSent) return body.cancel()
  setHead(source, target)
  if (body.whole !== undefined) return endWith(body.whole, target)
  await sendPieces(body, target)
}

function setHead(source: Response, target: ServerResponse): ServerResponse {
  target.statusCode = source.status
  setHeaders(source, target)
  return target
}

/** With its length, which Node can't find out by itself behind a middleware that has its own `end`, as compression has. */
function endWith(whole: string | Uint8Array, target: ServerResponse): void {
  if (!target.hasHeader('content-length')) target.setHeader('content-length', Buffer.byteLength(whole))
  target.end(whole)
}

async function sendPieces(body: BegunBody, target: ServerResponse): Promise<void> {
  let proceed: (() => void) | undefined
  target.on('drain', () => proceed?.())
  whenOver(target, () => proceed?.())
  /** Waits where the client is slower than the body. */
  function push(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      proceed = resolve
      // Only false means full: a middleware may have put a write of its own there, which answers nothing.
      if (isOver(target) || target.writableEnded || target.write(bytes) !== false) resolve()
    })
  }

  try {
    for (let piece = await body.read(); piece; piece = await body.read()) await push(piece)
  } catch (error) {
    target.destroy()
    throw error
  }
  target.end()
}
