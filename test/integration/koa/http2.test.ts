import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, createServer, type ClientHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createS3Server, db, memoryStorage, type Handler } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { koaBinding } from '@svc/db/koa'
import { echo, type Echo } from '../bindings/echo.js'
import { deferred } from '../bindings/deferred.js'
import type { Served } from '../http-table/fixture.js'
import { listenerOf, versions } from './versions.js'

const basePath = '/api/s3'

interface Sent {
  readonly json?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

describe.each(versions)('HTTP/2 in $name', ({ name, Koa }) => {
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

  async function ask(client: ClientHttp2Session, request: string, { json, headers, body }: Sent = {}) {
    const [method, path] = request.split(' ')
    const stream = client.request({
      ...{ ':method': method!, ':path': path!, 'x-user': 'ann', ...headers },
      ...(json && { 'content-type': 'application/json' }),
    })
    stream.end(json ? JSON.stringify(json) : body)
    const [responseHeaders] = (await once(stream, 'response')) as [Record<string, string | number>]
    const text = Buffer.concat(await stream.toArray()).toString()
    return { status: responseHeaders[':status'], text, type: responseHeaders['content-type'] }
  }

  it('serves uploads, responses without a body, and errors', async () => {
    const s3 = createS3Server({
      storage: memoryStorage(),
      bucket: 'files',
      plugins: [db({ client: memoryAdapter(), resolveScope: ({ headers }) => headers.get('x-user') })],
    })
    const client = await open(s3)
    const uploadRequest = { filename: 'a.txt', contentType: 'text/plain', size: 5 }
    const begun = await ask(client, 'POST /api/s3/upload', { json: uploadRequest })
    expect(begun.status).toBe(201)
    const { object, upload } = JSON.parse(begun.text) as {
      object: { key: string; id: string }
      upload: { url: string; headers: Record<string, string> }
    }
    const put = `PUT ${new URL(upload.url).pathname}`
    expect(await ask(client, put, { headers: upload.headers, body: 'hello' })).toMatchObject({
      ...{ status: 200, text: '' },
    })
    expect(await ask(client, put, { headers: upload.headers, body: 'again' })).toMatchObject({ status: 409 })
    const { key, id } = object
    expect(await ask(client, 'POST /api/s3/upload/confirm', { json: { key, id } })).toMatchObject({
      status: 200,
    })
    const query = `key=${encodeURIComponent(key)}`
    const found = await ask(client, `GET /api/s3/download?${query}`)
    const { url } = JSON.parse(found.text) as { url: string }
    const download = new URL(url).pathname
    expect(await ask(client, `GET ${download}`)).toEqual({ status: 200, text: 'hello', type: 'text/plain' })
    // Koa 2 never responds to HEAD requests over HTTP/2, not even in application routes.
    if (name !== 'Koa 2') {
      expect(await ask(client, `HEAD ${download}`)).toEqual({ status: 200, text: '', type: 'text/plain' })
    }
    expect(await ask(client, `DELETE /api/s3/object?${query}`)).toMatchObject({ status: 204, text: '' })
    expect(await ask(client, `DELETE /api/s3/object?${query}`)).toMatchObject({ status: 404 })
    expect(await ask(client, 'OPTIONS /api/s3/upload')).toMatchObject({ status: 405 })
    const tooLong = { json: { filename: 'x'.repeat(70_000) } }
    expect(await ask(client, 'POST /api/s3/upload', tooLong)).toMatchObject({ status: 400 })
  })

  it('behaves like HTTP/1.1', async () => {
    const client = await open({ basePath, handler: echo.handler })
    const stream = client.request({ ':path': '/api/s3/x?a=1', ':authority': 'good.example', 'x-name': 'ann' })
    const seen = JSON.parse(Buffer.concat(await stream.toArray()).toString()) as Echo
    expect(seen).toMatchObject({ url: 'http://good.example/api/s3/x?a=1', basePath, method: 'GET' })
    expect(seen.headers).toEqual({ 'x-name': 'ann' })
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
