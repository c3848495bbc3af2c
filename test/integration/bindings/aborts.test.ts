import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTick } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createS3Server, db, memoryStorage, type Handler, type ObjectStorage } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { deferred, until } from './deferred.js'
import { RawConnection } from './raw-connection.js'
import { readToEnd, type RequestBody } from './body-echo.js'
import { everyFramework, frameworks } from './frameworks.js'

const basePath = '/api/s3'
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
const post = (path: string) =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`

/** A handler that doesn't respond until its client has disconnected. */
function waitingHandler() {
  const called = deferred<Request>()
  const left = deferred()
  const handler: Handler = async (request) => {
    called.resolve(request)
    if (!request.signal.aborted) await once(request.signal, 'abort')
    left.resolve()
    return new Response('unread')
  }
  return { handler, called: called.promise, left: left.promise }
}

describe.each(everyFramework)('a client that disconnects, in $name', ({ app: newApp }) => {
  it('aborts its pending request, on a reused connection and with a parsed body', async () => {
    for (const app of [newApp(), newApp().useJsonParser()]) {
      const { handler, called, left } = waitingHandler()
      const served: Handler = async (request, options) =>
        request.url.endsWith('/first') ? Response.json(1) : handler(request, options)
      const { port } = await app.bind({ basePath, handler: served }).listen()
      const connection = await RawConnection.open(port)
      await connection.send(get('/api/s3/first')).response()
      connection.send(post('/api/s3/second'))
      const { signal } = await called
      expect(signal.aborted).toBe(false)

      connection.socket.destroy()

      await left
      expect(signal.aborted).toBe(true)
    }
  })

  it('cancels the bodies of all responses that wait behind one another', async () => {
    const open = new Set<string>()
    const handler: Handler = async ({ url }) => {
      open.add(url)
      const source = {
        pull: (controller: ReadableStreamDefaultController<Uint8Array>) =>
          controller.enqueue(new Uint8Array(65_536)),
        cancel: () => void open.delete(url),
      }
      // With a length, a binding could pass the body on as it is.
      const headers = { 'content-length': String(1e9) }
      return new Response(new ReadableStream(source, { highWaterMark: 0 }), { headers })
    }
    const { port } = await newApp().bind({ basePath, handler }).listen({ ignoreErrors: true })
    const connection = await RawConnection.open(port)
    connection.socket.pause()
    connection.send(['1', '2', '3'].map((path) => get(`/api/s3/${path}`)).join(''))
    await until(() => open.size === 3)

    connection.socket.resetAndDestroy()

    await until(() => open.size === 0)
  })
})

describe.each(frameworks)('a client that disconnects, in $name', ({ app: newApp }) => {
  it('aborts the request in an application route, and its clones', async () => {
    const original = waitingHandler()
    const clone = waitingHandler()
    const { port } = await newApp()
      .route((request) => {
        void original.handler(request)
        void clone.handler(request.clone().clone())
      })
      .listen()
    const connection = await RawConnection.open(port)
    connection.send(get('/files'))
    await Promise.all([original.called, clone.called])

    connection.socket.destroy()

    await Promise.all([original.left, clone.left])
  })

  it('aborts a pipelined request before the library gets it', async () => {
    const begun = deferred()
    const app = newApp().use((req, _res, next) => {
      if (!req.url!.startsWith('/second')) return next()
      begun.resolve()
      // A response that waits behind another one gets no event when the connection closes.
      req.socket.once('close', () => setImmediate(next))
    })
    const first = waitingHandler()
    const second = waitingHandler()
    app.bind({ basePath, handler: first.handler }, '/first')
    app.bind({ basePath, handler: second.handler }, '/second')
    const { port } = await app.listen()
    const connection = await RawConnection.open(port)
    connection.send(get('/first/api/s3/x') + get('/second/api/s3/x'))
    await first.called
    await begun.promise

    connection.socket.destroy()

    expect((await second.called).signal.aborted).toBe(true)
    await second.left
  })

  it('aborts a request whose response it has not read completely', async () => {
    const requests: Request[] = []
    const responses: ServerResponse[] = []
    const handler: Handler = async (request) => {
      requests.push(request)
      return new Response(new Uint8Array(32 * 1024 * 1024))
    }
    const app = newApp().use((_req, res, next) => {
      responses.push(res)
      next()
    })
    const { port } = await app.bind({ basePath, handler }).listen()
    const connection = await RawConnection.open(port)
    connection.socket.pause()
    connection.send(get('/api/s3/x'))
    await until(() => responses[0]?.writableEnded === true)
    expect(requests[0]!.signal.aborted).toBe(false)

    connection.socket.destroy()

    await until(() => requests[0]!.signal.aborted)
    expect(requests[0]!.signal.reason).toMatchObject({ name: 'AbortError' })
  })

  it('aborts a request whose response waits behind another', async () => {
    const first = waitingHandler()
    let second: Request | undefined
    const handler: Handler = async (request, options) => {
      if (request.url.endsWith('/first')) return first.handler(request, options)
      second = request
      return new Response('bytes')
    }
    const responses: ServerResponse[] = []
    const app = newApp().use((_req, res, next) => {
      responses.push(res)
      next()
    })
    const { port } = await app.bind({ basePath, handler }).listen()
    const connection = await RawConnection.open(port)
    connection.send(get('/api/s3/first') + get('/api/s3/second'))
    await until(() => responses[1]?.writableEnded === true)

    connection.socket.end()

    await until(() => second!.signal.aborted)
  })

  it('ends a body that is being read with an error', async () => {
    for (const way of ['open', 'read'] as const) {
      const failure = deferred<unknown>()
      const begun = deferred()
      const handler: Handler = async (_request, options) => {
        const body = options!.body as Extract<RequestBody, { kind: 'stream' }>
        const whole = way === 'open' ? readToEnd(body.open()) : body.read!(Infinity)
        begun.resolve()
        await whole.catch(failure.resolve)
        return new Response('unread')
      }
      const { port } = await newApp().bind({ basePath, handler }).listen()
      const connection = await RawConnection.open(port)
      connection.send('PUT /api/s3/x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf')
      await begun.promise

      connection.socket.destroy()

      expect(await failure.promise).toBeInstanceOf(Error)
    }
  })
})

describe.each(frameworks)('a client that stays connected, in $name', ({ app: newApp }) => {
  it('does not abort when its body has been read, nor after the response', async () => {
    for (const app of [newApp(), newApp().useJsonParser()]) {
      const signals: AbortSignal[] = []
      const handler: Handler = async ({ signal }, options) => {
        signals.push(signal)
        const body = options!.body!
        if (body.kind === 'stream') await readToEnd(body.open())
        for (let tick = 0; tick < 20; tick++) await nextTick()
        return Response.json(signal.aborted)
      }
      const { port, server } = await app.bind({ basePath, handler }).listen()
      const connection = await RawConnection.open(port)
      const served = once(server, 'request') as Promise<[{ socket: NodeJS.EventEmitter }]>
      expect((await connection.send(post('/api/s3/x')).response()).body).toBe('false')
      const [{ socket }] = await served

      connection.socket.end()
      await once(socket, 'close')

      expect(signals.map(({ aborted }) => aborted)).toEqual([false])
    }
  })
})

describe('a call that its client has cancelled', () => {
  it.each([
    ['is not reported', (signal: AbortSignal): unknown => signal.reason, []],
    ['is reported if the storage fails', () => new Error('disk full'), ['STORAGE_UNAVAILABLE']],
  ])('%s', async (_title, failureOf, expected) => {
    const client = new AbortController()
    const reported: unknown[] = []
    const storage: ObjectStorage = {
      ...memoryStorage(),
      async signDownload({ signal }) {
        client.abort()
        throw failureOf(signal!)
      },
    }
    const object = { scope: 'user:1', bucket: 'files', key: 'a.txt' }
    const s3 = createS3Server({
      storage,
      bucket: 'files',
      plugins: [db({ client: memoryAdapter({ objects: [object] }), resolveScope: () => 'user:1' })],
      onError: (error) => reported.push(error),
    })

    const { signal } = client
    const { status } = await s3.handler(new Request('http://a/api/s3/download?key=a.txt', { signal }))

    expect(status).toBe(502)
    expect(reported).toEqual(expected.map((code) => expect.objectContaining({ code }) as unknown))
  })
})
