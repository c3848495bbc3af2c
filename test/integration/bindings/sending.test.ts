import { Readable } from 'node:stream'
import { setImmediate as nextTick } from 'node:timers/promises'
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

  it('keep headers set by middleware', async () => {
    const { url } = await serve(
      respondWith(() => {
        const headers = new Headers({ 'cache-control': 'private, no-store', vary: 'Accept' })
        headers.append('set-cookie', 'library=1; Path=/')
        headers.append('set-cookie', 'library=2')
        return Response.json({ a: 1 }, { status: 503, headers })
      }),
      (app) =>
        app.use((_req, res, next) => {
          const headers = { 'x-frame-options': 'DENY', 'cache-control': 'public', vary: 'Origin' }
          res.setHeaders(new Map(Object.entries(headers))).appendHeader('set-cookie', 'session=abc; Path=/')
          next()
        }),
    )
    const response = await fetch(`${url}/api/s3/x`)
    expect([response.status, await response.json()]).toEqual([503, { a: 1 }])
    expect(Object.fromEntries(response.headers)).toMatchObject({
      ...{ 'content-type': 'application/json', 'content-length': '7' },
      ...{ 'x-frame-options': 'DENY', 'cache-control': 'private, no-store', vary: 'Origin, Accept' },
    })
    const cookies = response.headers.getSetCookie()
    expect(cookies).toEqual(['session=abc; Path=/', 'library=1; Path=/', 'library=2'])
  })

  it('can have no body or an empty one', async () => {
    const { port } = await serve(async ({ url }) =>
      url.endsWith('/empty') ? new Response('') : new Response(null, { status: 204 }),
    )
    const connection = await RawConnection.open(port)
    for (let i = 0; i < 2; i++) {
      const response = await connection.send(get()).response()
      expect(response.status).toBe(204)
      expect(response.headers.join('\n')).not.toMatch(/content-length|transfer-encoding/i)
    }
    const empty = await connection.send(get('/api/s3/empty')).response()
    expect([empty.status, empty.body]).toEqual([200, ''])
    expect(empty.headers.join('\n')).toMatch(/^content-length: 0$/im)
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

  it('reach the client chunk by chunk, with and without a length', async () => {
    for (const headers of [{ 'content-length': '8' }, {}] as Record<string, string>[]) {
      let given!: ReadableStreamDefaultController<Uint8Array>
      const body = new ReadableStream<Uint8Array>({ start: (controller) => void (given = controller) })
      const { url } = await serve(respondWith(() => new Response(body, { headers })))
      for (const chunk of ['o', 'ne']) given.enqueue(bytes(chunk))
      const response = await fetch(`${url}/api/s3/x`)
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      const receive = async (expected: string) => {
        let received = ''
        while (received.length < expected.length) received += (await reader.read()).value!
        expect(received).toBe(expected)
      }
      expect(response.headers.get('content-length')).toBe(headers['content-length'] ?? null)
      await receive('one')
      given.enqueue(bytes(''))
      given.enqueue(bytes('three'))
      await receive('three')
      given.close()
      expect((await reader.read()).done).toBe(true)
    }
  })

  it('wait while the buffers up to the client are full', async () => {
    const total = 1000
    let given = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array(1024))
        if (++given === total) controller.close()
      },
    })
    let writes = 0
    let drain!: () => void
    const { url } = await serve(
      respondWith(() => new Response(body)),
      (app) =>
        app.use((_req, res, next) => {
          const write = res.write.bind(res) as (...args: unknown[]) => boolean
          // As if the client didn't read.
          res.write = (...args: unknown[]) => {
            writes++
            write(...args)
            return false
          }
          drain = () => {
            res.write = write as typeof res.write
            res.emit('drain')
          }
          next()
        }),
    )
    const response = fetch(`${url}/api/s3/x`)
    await until(() => writes > 0)
    for (let tick = 0; tick < 100; tick++) await nextTick()
    expect(writes).toBe(1)
    expect(given).toBeLessThan(total / 2)

    drain()

    expect((await (await response).arrayBuffer()).byteLength).toBe(total * 1024)
  })

  it('are cancelled when the client disconnects, after any number of chunks', async () => {
    for (const chunks of [[], ['a'], ['a', 'b', 'c']]) {
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
    }
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
