import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Serve } from './fixture.js'
import { listenForFile } from './listen-for-file.js'

/** Serves a handler with minimal code, as a reference for the bindings. */
export const serveByHandlerAlone: Serve = async ({ handler, basePath }) => {
  const url = await listenForFile((message, response) => {
    void requestOf(message)
      .then(handler)
      .then(async (result) => {
        response.writeHead(result.status, Object.fromEntries(result.headers))
        response.end(Buffer.from(await result.arrayBuffer()))
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
