import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { Handler } from '@svc/db'
import { deferred, until } from './deferred.js'
import { RawConnection } from './raw-connection.js'
import { respondWith, bytes, unfinishedBody } from './response-bodies.js'
import type { FrameworkApp } from './framework.js'
import { frameworks } from './frameworks.js'

const basePath = '/api/s3'
const get = (path = '/api/s3/x', method = 'GET') => `${method} ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

describe.each(frameworks)('responses in $name', ({ app: newApp }) => {
  function serve(handler: Handler, prepare: (app: FrameworkApp) => void = () => undefined) {
    const app = newApp()
    prepare(app)
    app.bind({ basePath, handler })
    return app.listen()
  }

  it('have the library’s status, headers and body', async () => {
    const { url } = await serve(
      respondWith(() =>
        Response.json({ a: 1 }, { status: 503, headers: { 'retry-after': '5', 'x-name': 'J\xfcrgen' } }),
      ),
    )
    const response = await fetch(`${url}/api/s3/x`)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('5')
    expect(response.headers.get('x-name')).toBe('J\xfcrgen')
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('content-length')).toBe('7')
    expect(await response.json()).toEqual({ a: 1 })
  })

  it('keep headers set by middleware', async () => {
    const { url } = await serve(
      respondWith(() => {
        const headers = new Headers({ 'cache-control': 'private, no-store', vary: 'Accept' })
        headers.append('set-cookie', 'library=1; Path=/')
        headers.append('set-cookie', 'library=2')
        return Response.json(null, { headers })
      }),
      (app) =>
        app.use((_req, res, next) => {
          const headers = { 'x-frame-options': 'DENY', 'cache-control': 'public', vary: 'Origin' }
          res.setHeaders(new Map(Object.entries(headers))).appendHeader('set-cookie', 'session=abc; Path=/')
          next()
        }),
    )
    const { headers } = await fetch(`${url}/api/s3/x`)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('cache-control')).toBe('private, no-store')
    expect(headers.get('vary')).toBe('Origin, Accept')
    expect(headers.getSetCookie()).toEqual(['session=abc; Path=/', 'library=1; Path=/', 'library=2'])
  })

  it('can have no body', async () => {
    const { port } = await serve(respondWith(() => new Response(null, { status: 204 })))
    const connection = await RawConnection.open(port)
    for (let i = 0; i < 2; i++) {
      const response = await connection.send(get()).response()
      expect(response.status).toBe(204)
      expect(response.headers.join('\n')).not.toMatch(/content-length|transfer-encoding/i)
    }
  })

  it('can have an empty body', async () => {
    const { url } = await serve(respondWith(() => new Response('')))
    const response = await fetch(`${url}/api/s3/x`)
    expect(response.headers.get('content-length')).toBe('0')
    expect(await response.text()).toBe('')
  })

  it('to HEAD have only headers, and cancel the body', async () => {
    const { body, cancelled } = unfinishedBody('bytes')
    const { port } = await serve(
      respondWith(
        () => new Response(body, { headers: { 'content-length': '5', 'content-type': 'image/png' } }),
      ),
    )
    const connection = await RawConnection.open(port)
    connection.send(get('/api/s3/x', 'HEAD'))
    await cancelled
    connection.socket.end()
    const response = await connection.rest()
    expect(response).toMatch(/^content-length: 5\r$/im)
    expect(response).toMatch(/^content-type: image\/png\r$/im)
    expect(response).toMatch(/\r\n\r\n$/)
  })

  it('are streamed, with and without a length', async () => {
    const chunks = ['a', 'bc', '', 'def']
    const stream = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          chunks.forEach((chunk) => controller.enqueue(bytes(chunk)))
          controller.close()
        },
      })
    const { url } = await serve(async ({ url }) =>
      url.endsWith('/long')
        ? new Response(stream(), { headers: { 'content-length': '6' } })
        : new Response(stream()),
    )
    for (const [path, length] of [['/long', '6'] as const, ['/unknown', null] as const]) {
      const response = await fetch(url + basePath + path)
      expect(response.headers.get('content-length')).toBe(length)
      expect(await response.text()).toBe('abcdef')
    }
  })

  it('are streamed if middleware replaces write and returns nothing', async () => {
    const { url } = await serve(
      respondWith(
        () => new Response(Readable.toWeb(Readable.from([bytes('a'), bytes('b'), bytes('c')])) as BodyInit),
      ),
      (app) =>
        app.use((_req, res, next) => {
          const write = res.write.bind(res) as (chunk: Uint8Array) => boolean
          res.write = ((chunk: Uint8Array) => void write(chunk)) as unknown as typeof res.write
          next()
        }),
    )
    expect(await (await fetch(`${url}/api/s3/x`)).text()).toBe('abc')
  })

  it('reach the client chunk by chunk', async () => {
    let give!: (text: string) => void
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void (give = (text) => controller.enqueue(bytes(text))),
    })
    const { url } = await serve(respondWith(() => new Response(body, { headers: { 'content-length': '6' } })))
    give('one')
    const reader = (await fetch(`${url}/api/s3/x`)).body!.getReader()
    expect((await reader.read()).value).toEqual(bytes('one'))
    give('two')
    expect((await reader.read()).value).toEqual(bytes('two'))
  })

  it('wait for a slow client', async () => {
    const chunk = new Uint8Array(64 * 1024).fill(120)
    const total = 1024
    let given = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(chunk)
        if (++given === total) controller.close()
      },
    })
    let isWaiting = () => false
    const handler: Handler = async ({ url }) =>
      url.endsWith('/quick') ? Response.json(1) : new Response(body)
    const { port, url } = await serve(handler, (app) =>
      app.use((req, res, next) => {
        if (!req.url!.endsWith('/quick')) isWaiting = () => res.writableNeedDrain
        next()
      }),
    )
    const connection = await RawConnection.open(port)
    connection.socket.pause()
    connection.send(`GET /api/s3/x HTTP/1.0\r\n\r\n`)

    await until(() => isWaiting())
    // The operating system may buffer more. Its buffers are full once other requests no longer cause reads.
    let before = -1
    while (before !== given) {
      before = given
      for (let i = 0; i < 5; i++) await fetch(`${url}/api/s3/quick`)
    }
    expect(given).toBeLessThan(total / 2)

    connection.socket.resume()
    const response = await connection.rest()
    expect(response.length - response.indexOf('\r\n\r\n') - 4).toBe(total * chunk.length)
  })

  it.each([
    ['between two chunks', ['a', 'b', 'c']],
    ['before the first chunk', []],
    ['before the second chunk', ['a']],
  ])('are cancelled when the client disconnects %s', async (_when, chunks) => {
    const { body, cancelled } = unfinishedBody(...chunks)
    const called = deferred()
    const { port } = await serve(async () => {
      called.resolve()
      return new Response(body)
    })
    const connection = await RawConnection.open(port)
    connection.send(get())
    await called.promise
    if (chunks.length > 2) await until(() => connection.bytesReceived > 0)

    connection.socket.destroy()

    await cancelled
  })

  it('are cancelled when the client disconnects while its buffers are full', async () => {
    const cancelled = deferred<unknown>()
    let isWaiting = () => false
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)),
      cancel: cancelled.resolve,
    })
    const { port } = await serve(
      respondWith(() => new Response(body)),
      (app) =>
        app.use((_req, res, next) => {
          isWaiting = () => res.writableNeedDrain
          next()
        }),
    )
    const connection = await RawConnection.open(port)
    connection.socket.pause()
    connection.send(get())
    await until(() => isWaiting())

    connection.socket.destroy()

    await cancelled.promise
  })

  it('are cancelled if the client has already disconnected, even if cancelling fails', async () => {
    const called = deferred<AbortSignal>()
    const cancelled = deferred()
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(bytes('a')),
      cancel() {
        cancelled.resolve()
        throw new Error('of the body')
      },
    })
    const { port } = await serve(async ({ signal }) => {
      called.resolve(signal)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return new Response(body)
    })
    const connection = await RawConnection.open(port)
    connection.send(get())
    await called.promise

    connection.socket.destroy()

    await cancelled.promise
  })
})
