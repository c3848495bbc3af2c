import type { ServerResponse } from 'node:http'
import { isOver, whenOver } from './response-over.js'

type Body = ReadableStreamDefaultReader<Uint8Array>

/** Lists, to which a response adds instead of taking the place of what a middleware has set. */
const LISTS: ReadonlySet<string> = new Set(['set-cookie', 'vary'])

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
  if (source.body && target.req.method !== 'HEAD')
    return sendWithBody(source, source.body.getReader(), target)
  await source.body?.cancel()
  if (!target.headersSent) setHead(source, target).end()
}

function setHead(source: Response, target: ServerResponse): ServerResponse {
  target.statusCode = source.status
  for (const [name, value] of source.headers) {
    const before = LISTS.has(name) ? target.getHeader(name) : undefined
    target.setHeader(name, before === undefined ? value : [before, value].flat().map(String))
  }
  return target
}

async function sendWithBody(source: Response, body: Body, target: ServerResponse): Promise<void> {
  let proceed: (() => void) | undefined
  target.on('drain', () => proceed?.())
  whenOver(target, () => {
    cancel(body)
    proceed?.()
  })
  /** Waits where the client is slower than the body. */
  function push(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      proceed = resolve
      // Only false means full: a middleware may have put a write of its own there, which answers nothing.
      if (isOver(target) || target.writableEnded || target.write(bytes) !== false) resolve()
    })
  }

  let piece = await body.read()
  // A body in one piece is sent with its length, so it is worth a look whether another piece follows.
  let next = piece.done || source.headers.has('content-length') ? undefined : await body.read()
  if (target.headersSent) return cancel(body)
  setHead(source, target)
  if (next?.done) return void target.end(piece.value)
  try {
    while (!piece.done) {
      await push(piece.value)
      piece = next ?? (await body.read())
      next = undefined
    }
  } catch (error) {
    target.destroy()
    throw error
  }
  target.end()
}

/** Ends a read that is under way, too. A body that can't be cancelled has nobody left to tell. */
function cancel(body: Body): void {
  body.cancel().catch(() => undefined)
}
