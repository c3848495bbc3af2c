import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, createServer, type ClientHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import type { Handler } from '@svc/db'
import { serve } from '../../../src/bindings/node/serve.js'
import { createRequest, requestOnce } from '../../../src/bindings/node/web-request.js'
import { echo, type Echo } from '../bindings/echo.js'
import { listen } from '../bindings/listening.js'
import { deferred, until } from '../bindings/deferred.js'
import { RawConnection } from '../bindings/raw-connection.js'

// Tests the conversion without Express, which doesn't await middleware and doesn't support HTTP/2.

async function connectTo(handler: Handler): Promise<ClientHttp2Session> {
  const server = createServer((req, res) => {
    const message = req as unknown as IncomingMessage
    const response = res as unknown as ServerResponse
    const location = { protocol: 'http', host: req.authority, target: req.url }
    const request = requestOnce(message, () => createRequest(message, response, location))
    void serve(handler, { request, message, response, basePath: '' })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => {
    session.destroy()
    server.close()
  })
  return session
}

it('drops pseudo-headers, and keeps the bytes of headers and path', async () => {
  const session = await connectTo(echo.handler)
  const path = Buffer.from('/é?key=ü').toString('latin1')

  const stream = session.request({ ':path': path, ':authority': 'good.example', 'x-name': 'J\xfcrgen' })
  const seen = JSON.parse(Buffer.concat(await stream.toArray()).toString()) as Echo

  expect(seen).toMatchObject({ url: 'http://good.example/%C3%A9?key=%C3%BC', method: 'GET' })
  expect(seen.headers).toEqual({ 'x-name': 'J\xfcrgen' })
})

it('shows the headers of a message that middleware has wrapped', async () => {
  const { url } = await listen((message, response) => {
    const location = { protocol: 'http', host: 'a.example', target: '/' }
    const request = requestOnce(message, () => createRequest(message, response, location))
    const headers = { 'x-name': 'ann' }
    const wrapped = Object.create(message, { headers: { value: headers } }) as IncomingMessage
    const again = requestOnce(wrapped, () => createRequest(wrapped, response, location))
    response.end(JSON.stringify([again === request, Object.fromEntries(request.headers)]))
  })

  const response = await fetch(url, { headers: { 'x-name': 'eve' } })

  expect(await response.json()).toEqual([true, { 'x-name': 'ann' }])
})

it('aborts the request when its stream is reset', async () => {
  const called = deferred()
  const left = deferred<boolean>()
  const session = await connectTo(async ({ signal }) => {
    called.resolve()
    await once(signal, 'abort')
    left.resolve(signal.aborted)
    return new Response('unread')
  })
  const stream = session.request({ ':path': '/x' })
  stream.on('error', () => undefined)
  await called.promise

  stream.close()

  expect(await left.promise).toBe(true)
})

// More than all buffers up to the client hold.
const PIECE_BYTES = 32 * 1024 * 1024

it.each(['while its buffers are full', 'before it starts'])(
  'resolves when the client disconnects %s',
  async (when) => {
    const called = deferred()
    const done = deferred()
    const responses: ServerResponse[] = []
    const handler: Handler = async ({ signal }) => {
      called.resolve()
      if (when === 'before it starts') await once(signal, 'abort')
      return new Response(
        new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(PIECE_BYTES)) }),
      )
    }
    const { port } = await listen((message, response) => {
      responses.push(response)
      const location = { protocol: 'http', host: message.headers.host, target: message.url! }
      const request = requestOnce(message, () => createRequest(message, response, location))
      void serve(handler, { request, message, response, basePath: '' }).then(done.resolve)
    })
    const connection = await RawConnection.open(port)
    connection.socket.pause()
    connection.send('GET /x HTTP/1.1\r\nHost: a\r\n\r\n')
    await called.promise
    if (when === 'while its buffers are full') await until(() => responses[0]!.writableNeedDrain)

    connection.socket.destroy()

    await done.promise
  },
)
