import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll } from 'vitest'
import type { Serve } from './fixture.js'

/** A handler behind the least that makes a `Request` of a message: what the bindings are measured by. */
export const serveByHandlerAlone: Serve = async ({ handler, basePath }) => {
  const server = createServer((message, response) => {
    void requestOf(message)
      .then(handler)
      .then(async (answer) => {
        response.writeHead(answer.status, Object.fromEntries(answer.headers))
        response.end(Buffer.from(await answer.arrayBuffer()))
      })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${basePath}`
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
