import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { Handler } from '@svc/db'
import { occurrence, until } from './occurrence.js'
import { RawConnection } from './raw-connection.js'
import { answering, bytes, unfinishedBody } from './response-bodies.js'
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

  it('have the status, the headers and the body of the library', async () => {
    const { url } = await serve(
      answering(() =>
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

  it('keep the headers that middleware has set', async () => {
    const { url } = await serve(
      answering(() => {
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

  it('have no body where there is none', async () => {
    const { port } = await serve(answering(() => new Response(null, { status: 204 })))
    const connection = await RawConnection.open(port)
    for (let i = 0; i < 2; i++) {
      const response = await connection.send(get()).response()
      expect(response.status).toBe(204)
      expect(response.headers.join('\n')).not.toMatch(/content-length|transfer-encoding/i)
    }
  })

  it('may be empty', async () => {
    const { url } = await serve(answering(() => new Response('')))
    const response = await fetch(`${url}/api/s3/x`)
    expect(response.headers.get('content-length')).toBe('0')
    expect(await response.text()).toBe('')
  })

  it('to HEAD have the headers only, and the body is let go of', async () => {
    const { body, cancelled } = unfinishedBody('bytes')
    const { port } = await serve(
      answering(
        () => new Response(body, { headers: { 'content-length': '5', 'content-type': 'image/png' } }),
      ),
    )
    const connection = await RawConnection.open(port)
    connection.send(get('/api/s3/x', 'HEAD'))
    await cancelled
    connection.socket.end()
    const answer = await connection.rest()
    expect(answer).toMatch(/^content-length: 5\r$/im)
    expect(answer).toMatch(/^content-type: image\/png\r$/im)
    expect(answer).toMatch(/\r\n\r\n$/)
  })

  it('are streamed, with and without a length', async () => {
    const pieces = ['a', 'bc', '', 'def']
    const stream = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          pieces.forEach((piece) => controller.enqueue(bytes(piece)))
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

  it('are streamed through a write that answers nothing', async () => {
    const { url } = await serve(
      answering(
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

  it('reach the client piece by piece', async () => {
    let give!: (text: string) => void
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void (give = (text) => controller.enqueue(bytes(text))),
    })
    const { url } = await serve(answering(() => new Response(body, { headers: { 'content-length': '6' } })))
    give('one')
    const reader = (await fetch(`${url}/api/s3/x`)).body!.getReader()
    expect((await reader.read()).value).toEqual(bytes('one'))
    give('two')
    expect((await reader.read()).value).toEqual(bytes('two'))
  })

  it('go no faster than a slow client', async () => {
    const piece = new Uint8Array(64 * 1024).fill(120)
    const total = 1024
    let given = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(piece)
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
    // The buffers of the operating system may take more; they are full when other requests leave nothing new to do.
    let before = -1
    while (before !== given) {
      before = given
      for (let i = 0; i < 5; i++) await fetch(`${url}/api/s3/quick`)
    }
    expect(given).toBeLessThan(total / 2)

    connection.socket.resume()
    const answer = await connection.rest()
    expect(answer.length - answer.indexOf('\r\n\r\n') - 4).toBe(total * piece.length)
  })

  it.each([
    ['between two pieces', ['a', 'b', 'c']],
    ['before the first piece', []],
    ['before the second piece', ['a']],
  ])('are cancelled when the client leaves %s', async (_when, pieces) => {
    const { body, cancelled } = unfinishedBody(...pieces)
    const called = occurrence()
    const { port } = await serve(async () => {
      called.happen()
      return new Response(body)
    })
    const connection = await RawConnection.open(port)
    connection.send(get())
    await called.happened
    if (pieces.length > 2) await until(() => connection.bytesReceived > 0)

    connection.socket.destroy()

    await cancelled
  })

  it('are cancelled when the client leaves while its buffers are full', async () => {
    const cancelled = occurrence<unknown>()
    let isWaiting = () => false
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)),
      cancel: cancelled.happen,
    })
    const { port } = await serve(
      answering(() => new Response(body)),
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

    await cancelled.happened
  })

  it('that come after the client has left are cancelled, however badly', async () => {
    const called = occurrence<AbortSignal>()
    const cancelled = occurrence()
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(bytes('a')),
      cancel() {
        cancelled.happen()
        throw new Error('of the body')
      },
    })
    const { port } = await serve(async ({ signal }) => {
      called.happen(signal)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return new Response(body)
    })
    const connection = await RawConnection.open(port)
    connection.send(get())
    await called.happened

    connection.socket.destroy()

    await cancelled.happened
  })
})
