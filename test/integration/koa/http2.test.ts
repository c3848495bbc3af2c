import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, createServer, type ClientHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Handler } from '@svc/db'
import { koaBinding } from '@svc/db/koa'
import { deferred } from '../bindings/deferred.js'
import { echo, type Echo } from '../bindings/echo.js'
import { objects, serverWithObjects, type Served } from '../http-table/fixture.js'
import { listenerOf } from './versions.js'

const basePath = '/api/s3'

describe('HTTP/2 in Koa 3', () => {
  async function open(served: Served): Promise<ClientHttp2Session> {
    const listener = listenerOf(new Koa().use(koaBinding(served)))
    const server = createServer((message, response) =>
      listener(message as unknown as IncomingMessage, response as unknown as ServerResponse),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    onTestFinished(() => {
      client.destroy()
      server.close()
    })
    return client
  }

  it('serves JSON, responses without a body, and errors', async () => {
    const client = await open(serverWithObjects())
    const ask = async (method: string, path: string, json?: object) => {
      const headers = { 'x-user': 'user:1', ...(json && { 'content-type': 'application/json' }) }
      const stream = client.request({ ':method': method, ':path': `/api/s3${path}`, ...headers })
      stream.end(JSON.stringify(json))
      const [{ ':status': status }] = (await once(stream, 'response')) as [{ ':status': number }]
      return { status, text: Buffer.concat(await stream.toArray()).toString() }
    }
    const uploadRequest = { filename: 'a.txt', contentType: 'text/plain', size: 5 }
    expect(await ask('POST', '/upload', uploadRequest)).toMatchObject({ status: 201 })
    expect(await ask('POST', '/upload', { filename: 'x'.repeat(70_000) })).toMatchObject({ status: 400 })
    const text = expect.stringContaining('OBJECT_NOT_FOUND') as string
    expect(await ask('GET', '/db/object?key=none')).toEqual({ status: 404, text })
    expect(await ask('HEAD', '/db/objects')).toEqual({ status: 200, text: '' })
    const key = encodeURIComponent(objects.photo.key)
    expect(await ask('DELETE', `/object?key=${key}`)).toEqual({ status: 204, text: '' })
    expect(await ask('OPTIONS', '/upload')).toMatchObject({ status: 405 })
  })

  it('drops pseudo-headers, and keeps the bytes of headers and path', async () => {
    const client = await open(echo)
    const path = Buffer.from('/api/s3/é?key=ü').toString('latin1')

    const stream = client.request({ ':path': path, ':authority': 'good.example', 'x-name': 'J\xfcrgen' })
    const seen = JSON.parse(Buffer.concat(await stream.toArray()).toString()) as Echo

    const url = 'http://good.example/api/s3/%C3%A9?key=%C3%BC'
    expect(seen).toEqual({ url, basePath, method: 'GET', headers: { 'x-name': 'J\xfcrgen' } })
  })

  it('accepts bodies and streams responses', async () => {
    const handler: Handler = async (_request, options) => {
      const { body } = options!
      return new Response(body?.kind === 'stream' ? body.open() : null)
    }
    const client = await open({ basePath, handler })
    const stream = client.request({ ':path': '/api/s3/x', ':method': 'PUT' })
    const sent = Buffer.alloc(300_000, 7)
    stream.end(sent)
    expect(Buffer.concat(await stream.toArray()).equals(sent)).toBe(true)
  })

  it.each(['a stream is reset', 'a session ends'])('aborts the request when %s', async (what) => {
    const called = deferred<AbortSignal>()
    const left = deferred()
    const handler: Handler = async ({ signal }) => {
      called.resolve(signal)
      await once(signal, 'abort')
      left.resolve()
      return new Response('unread')
    }
    const client = await open({ basePath, handler })
    const stream = client.request({ ':path': '/api/s3/x' })
    stream.on('error', () => undefined)
    expect((await called.promise).aborted).toBe(false)

    if (what.includes('reset')) stream.close()
    else client.destroy()

    await left.promise
  })
})
