import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Handler } from '@svc/db'
import { deferred, until } from './deferred.js'
import { RawConnection } from './raw-connection.js'
import { readToEnd, type RequestBody } from './body-echo.js'
import { frameworks } from './frameworks.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const basePath = '/api/s3'
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
const pathOf = (request: Request) => new URL(request.url).pathname.slice(basePath.length)

function listenersOf(socket: Socket) {
  return Object.fromEntries(socket.eventNames().map((event) => [event, socket.listenerCount(event)]))
}

function warnings() {
  const seen: Error[] = []
  const see = (warning: Error) => seen.push(warning)
  process.on('warning', see)
  onTestFinished(() => void process.off('warning', see))
  return seen
}

type Stream = Extract<RequestBody, { kind: 'stream' }>

/** What a handler does with a long body before it responds. */
const readers: Readonly<Record<string, (body: Stream) => Promise<unknown>>> = {
  '/not-opened': async () => undefined,
  '/opened': async (body) => body.open(),
  '/read-partially': async (body) => body.open()!.getReader().read(),
  '/cancelled-immediately': async (body) => body.open()!.cancel(),
  async '/cancelled-after-a-chunk'(body) {
    const reader = body.open()!.getReader()
    await reader.read()
    await reader.cancel()
  },
  '/read-at-once-up-to-a-limit': async (body) => expect(await body.read!(100_000)).toBeNull(),
  async '/being-read'(body) {
    const reader = body.open()!.getReader()
    await reader.read()
    void reader.read()
  },
  async '/cancelled-while-being-read'(body) {
    const reader = body.open()!.getReader()
    await reader.read()
    const waiting = reader.read()
    await reader.cancel()
    await waiting
  },
}

describe.each(frameworks)('a reused connection, in $name', ({ app: newApp }) => {
  it('retains no request and no listener after its responses', async () => {
    const sockets = new Set<Socket>()
    const requests: WeakRef<Request>[] = []
    const handler: Handler = async (request) => {
      requests.push(new WeakRef(request))
      return Response.json('answer')
    }
    const app = newApp().use((req, _res, next) => {
      sockets.add(req.socket)
      next()
    })
    const { port } = await app.bind({ basePath, handler }).listen()
    const connection = await RawConnection.open(port)
    const total = 50
    const counts = []
    for (let i = 0; i < total; i++) {
      await connection.send(get('/api/s3/x')).response()
      await nextTurn()
      counts.push(listenersOf([...sockets][0]!))
    }

    expect(sockets.size).toBe(1)
    expect(counts.at(-1)).toEqual(counts[1])
    await until(() => {
      collectGarbage()
      // Node may retain the last requests of a connection.
      return requests.filter((request) => request.deref()).length < total / 5
    })
    expect([requests.length, connection.socket.destroyed]).toEqual([total, false])
  })

  it('responds to pipelined requests in order', async () => {
    const seen = warnings()
    const first = deferred()
    let called = 0
    const handler: Handler = async (request) => {
      called++
      if (pathOf(request) === '/0') await first.promise
      return Response.json(pathOf(request))
    }
    const { port } = await newApp().bind({ basePath, handler }).listen()
    const connection = await RawConnection.open(port)
    const paths = Array.from({ length: 30 }, (_, i) => `/${i}`)

    connection.send(paths.map((path) => get(basePath + path)).join(''))
    await until(() => called === paths.length)
    first.resolve()

    for (const path of paths) expect((await connection.response()).body).toBe(JSON.stringify(path))
    expect(seen).toEqual([])
  })

  it('serves the next request after a response that was sent before the end of the body', async () => {
    const handler: Handler = async (request, options) => {
      const body = options!.body as Stream
      const read = readers[pathOf(request)]
      if (!read) return Response.json((await readToEnd(body.open())).toString())
      await read(body)
      return Response.json('too long', { status: 400 })
    }
    const { port } = await newApp().bind({ basePath, handler }).listen()
    const connection = await RawConnection.open(port)
    const half = 'x'.repeat(300_000)
    const start = (path: string, length: number) =>
      `PUT ${basePath}${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`

    for (const path of Object.keys(readers)) {
      connection.send(start(path, 2 * half.length) + half)
      expect([path, await connection.response()]).toMatchObject([path, { status: 400, body: '"too long"' }])
      connection.send(half + start('/next', 3) + path.slice(1, 4))
      const next = { status: 200, body: JSON.stringify(path.slice(1, 4)) }
      expect([path, await connection.response()]).toMatchObject([path, next])
    }
  })

  it('serves the next request after one that middleware listened to', async () => {
    const app = newApp().use((req, _res, next) => {
      req.on('data', () => undefined)
      next()
    })
    app.bind({ basePath, handler: async () => Response.json('no', { status: 401 }) })
    const { port } = await app.listen()
    const connection = await RawConnection.open(port)
    const body = 'x'.repeat(300_000)

    for (let i = 0; i < 3; i++) {
      connection.send(`PUT /api/s3/x HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      expect((await connection.response()).status).toBe(401)
    }
  })
})
