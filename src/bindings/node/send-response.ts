import type { ServerResponse } from 'node:http'
import {
  cancelBody,
  hasBody,
  isPlain,
  startBody,
  type AnyResponse,
  type StartedBody,
} from './response-body.js'
import { isOver, whenOver } from './response-over.js'

/**
 * Sends a response. Resolves once everything is written. Keeps headers that were set before, unless the response has them
 * too. Sends nothing if another handler, such as a timeout, has already responded.
 *
 * Ends the response even if the client has disconnected, because middleware, such as sessions, may wait for its end.
 *
 * @throws the error of the body. If it fails before its first bytes, nothing has been sent. If it fails later, the
 * connection is closed, which is the only way left to report the error to the client.
 */
export async function sendResponse(source: AnyResponse, target: ServerResponse): Promise<void> {
  if (!hasBody(source) || target.req.method === 'HEAD') {
    await cancelBody(source)
    if (!target.headersSent) setHead(source, target).end()
    return
  }
  const body = await startBody(source, (cancel) => whenOver(target, cancel))
  if (target.headersSent) return body.cancel()
  setHead(source, target)
  if (body.whole !== undefined) return endWith(body.whole, target)
  await sendChunks(body, target)
}

function setHead(source: AnyResponse, target: ServerResponse): ServerResponse {
  target.statusCode = source.status
  setHeaders(source, target)
  return target
}

/** Sets the length, because Node can't if middleware, such as compression, replaces `end`. */
function endWith(whole: string | Uint8Array, target: ServerResponse): void {
  if (!target.hasHeader('content-length')) target.setHeader('content-length', Buffer.byteLength(whole))
  target.end(whole)
}

async function sendChunks(body: StartedBody, target: ServerResponse): Promise<void> {
  let proceed: (() => void) | undefined
  target.on('drain', () => proceed?.())
  whenOver(target, () => proceed?.())
  /** Waits if the client is slower than the body. */
  function push(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      proceed = resolve
      // Only `false` means that the buffer is full: a `write` that middleware has replaced may return `undefined`.
      if (isOver(target) || target.writableEnded || target.write(bytes) !== false) resolve()
    })
  }

  try {
    for (let chunk = await body.read(); chunk; chunk = await body.read()) await push(chunk)
  } catch (error) {
    target.destroy()
    throw error
  }
  target.end()
}

/** Returns whether a response has a header. The name is in lower case. */
export function hasHeader(source: AnyResponse, name: string): boolean {
  return isPlain(source) ? name in source.headers : source.headers.has(name)
}

/** Headers with a list of values, which a response extends instead of replacing. */
const LISTS: ReadonlySet<string> = new Set(['set-cookie', 'vary'])

/** What `setHeaders` needs of a response. */
export interface HeaderTarget {
  getHeader(name: string): number | string | readonly string[] | undefined
  setHeader(name: string, value: string | readonly string[]): unknown
}

/** Sets the headers of a response, and keeps others that were set before. */
export function setHeaders(source: AnyResponse, target: HeaderTarget): void {
  for (const [name, value] of isPlain(source) ? Object.entries(source.headers) : source.headers) {
    const before = LISTS.has(name) ? target.getHeader(name) : undefined
    target.setHeader(name, before === undefined ? value : [before, value].flat().map(String))
  }
}
