import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Serve } from './fixture.js'
import { listenForFile } from './listen-for-file.js'

/** A handler behind the least that makes a `Request` of a message: what the bindings are measured by. */
export const serveByHandlerAlone: Serve = async ({ handler, basePath }) => {
  const url = await listenForFile((message, response) => {
    void requestOf(message)
      .then(handler)
      .then(async (answer) => {
        response.writeHead(answer.status, Object.fromEntries(answer.headers))
        response.end(Buffer.from(await answer.arrayBuffer()))
      })
  })
  return url + basePath
}

async function requestOf(message: IncomingMessage): Promise<Request> {
  const { method = '', url = '', headers } = message
  const bytes = await buffer(message)
  return new Request(`http://${headers.host}${url}`, {
    method,
    headers: headers as Record<string, string>,
    ...(method !== 'GET' && method !== 'HEAD' && { body: bytes }),
  })
}
