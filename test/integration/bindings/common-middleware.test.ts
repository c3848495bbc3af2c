import type { IncomingMessage, ServerResponse } from 'node:http'
import compression from 'compression'
import cors from 'cors'
import helmet from 'helmet'
import morgan from 'morgan'
import { describe, expect, it } from 'vitest'
import type { Handler } from '@svc/db'
import { objects, serverWithObjects, USER_HEADER } from '../http-table/fixture.js'
import type { FrameworkApp, Step } from './framework.js'
import { frameworks } from './frameworks.js'
import { deferred, until } from './deferred.js'
import { RawConnection } from './raw-connection.js'
import { unfinishedBody } from './response-bodies.js'

const basePath = '/api/s3'
const origin = 'https://app.example'
const allowsOrigin = cors({ origin, credentials: true })

/** Both have types for Express, but use only what Node provides. */
const asStep = (middleware: (message: never, response: never, next: () => void) => void) => middleware as Step

/** Adds common middleware in front of the library. Returns the lines that morgan logs. */
function withUsualMiddleware(app: FrameworkApp): { app: FrameworkApp; log: string[] } {
  const log: string[] = []
  const stream = { write: (line: string) => void log.push(line.trim()) }
  app
    .use(asStep(morgan(':method :url :status :res[content-length]', { stream })))
    .use(helmet())
    .use(allowsOrigin)
    .use(asStep(compression({ threshold: 0 })))
    .useJsonParser()
  return { app, log }
}

describe.each(frameworks)('helmet, cors, compression and morgan in $name', ({ app: newApp }) => {
  const headers = { [USER_HEADER]: 'user:1', origin }

  it('extend the responses of the library', async () => {
    const { app, log } = withUsualMiddleware(newApp())
    const { url } = await app.bind(serverWithObjects()).listen()

    const response = await fetch(`${url}/api/s3/db/objects?limit=1`, { headers })

    expect(await response.json()).toMatchObject({ objects: [objects.archived] })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'application/json',
      'cache-control': 'private, no-store',
      'x-content-type-options': 'nosniff',
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      vary: 'Origin, Accept-Encoding',
    })
    await until(() => log.length === 1)
    expect(log).toEqual(['GET /api/s3/db/objects?limit=1 200 -'])
  })

  it('handle every kind of response', async () => {
    const { app, log } = withUsualMiddleware(newApp())
    const { url } = await app.bind(serverWithObjects()).listen()
    const key = encodeURIComponent(objects.report.key)
    const requests = {
      'HEAD /api/s3/db/objects': 200,
      'GET /api/s3/db/object?key=none': 404,
      'GET /api/s3/db/objects?limit=0': 400,
      'PUT /api/s3/db/objects': 405,
      [`DELETE /api/s3/object?key=${key}`]: 204,
      [`DELETE /api/s3/object?key=${key}&again`]: 404,
    }
    for (const [line, status] of Object.entries(requests)) {
      const [method, path] = line.split(' ') as [string, string]
      const response = await fetch(url + path, { method, headers })
      expect([line, response.status]).toEqual([line, status])
      const text = await response.text()
      if (status >= 400) expect(JSON.parse(text)).toHaveProperty('code')
      else expect(text).toBe('')
      expect(response.headers.get('x-frame-options')).toBe('SAMEORIGIN')
    }
    await until(() => log.length === Object.keys(requests).length)
    expect(log.map((line) => line.split(' ', 3).join(' '))).toEqual(
      Object.entries(requests).map(([line, status]) => `${line} ${status}`),
    )
  })

  it('respond to preflight requests before the library', async () => {
    const { app } = withUsualMiddleware(newApp())
    const { url } = await app.bind(serverWithObjects()).listen()
    const preflight = { ...headers, 'access-control-request-method': 'DELETE' }

    const response = await fetch(`${url}/api/s3/object`, { method: 'OPTIONS', headers: preflight })

    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-methods')).toContain('DELETE')
  })

  it('pass uploads and downloads', async () => {
    const { app } = withUsualMiddleware(newApp())
    const { url } = await app.bind(serverWithObjects()).listen()
    const bytes = Buffer.from('0123456789'.repeat(30_000))
    const post = async (path: string, body: unknown) => {
      const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' } }
      const response = await fetch(`${url}/api/s3${path}`, { ...init, body: JSON.stringify(body) })
      return (await response.json()) as {
        object: { key: string; id: string }
        upload: { url: string; headers: Record<string, string> }
      }
    }
    const { object, upload } = await post('/upload', {
      filename: 'digits.txt',
      contentType: 'text/plain',
      size: bytes.length,
    })
    await fetch(upload.url, { method: 'PUT', headers: { ...upload.headers, origin }, body: bytes })
    await post('/upload/confirm', { key: object.key, id: object.id })

    const link = await fetch(`${url}/api/s3/download?key=${encodeURIComponent(object.key)}`, { headers })
    const download = await fetch(((await link.json()) as { url: string }).url)

    expect(download.headers.get('content-encoding')).toBe('gzip')
    expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true)
  })

  it('serve many requests of a connection, sequential and pipelined', async () => {
    const { app, log } = withUsualMiddleware(newApp())
    const { port } = await app.bind(serverWithObjects()).listen()
    const connection = await RawConnection.open(port)
    const paths = ['/db/objects?limit=1', '/db/object?key=none', '/nothing', '/db/objects?status=deleted']
    const get = (path: string) =>
      `GET ${basePath}${path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: identity\r\n${USER_HEADER}: user:1\r\n\r\n`

    const alone = []
    for (const path of paths) alone.push(await connection.send(get(path)).response())
    connection.send([...paths, ...paths].map(get).join(''))
    const together = []
    while (together.length < 2 * paths.length) together.push(await connection.response())

    expect(alone.map(({ status }) => status)).toEqual([200, 404, 404, 200])
    expect(together.map(({ status, body }) => [status, body])).toEqual(
      [...alone, ...alone].map(({ status, body }) => [status, body]),
    )
    await until(() => log.length === 3 * paths.length)
  })

  it('pass on that a client disconnects early, and log it', async () => {
    const { body, cancelled } = unfinishedBody('a', 'b', 'c')
    const begun = deferred<Request>()
    const handler: Handler = async (request) => {
      begun.resolve(request)
      return new Response(body, { headers: { 'content-type': 'text/plain' } })
    }
    const { app, log } = withUsualMiddleware(newApp())
    const { port } = await app.bind({ basePath, handler }).listen()
    const connection = await RawConnection.open(port)
    connection.send(`GET ${basePath}/x HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n`)
    const { signal } = await begun.promise

    connection.socket.destroy()

    await cancelled
    expect(signal.aborted).toBe(true)
    await until(() => log.length === 1)
  })

  it('wait for a slow client', async () => {
    const total = 512
    let given = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        // Random bytes, which don't compress.
        controller.enqueue(crypto.getRandomValues(new Uint8Array(64 * 1024)))
        if (++given === total) controller.close()
      },
    })
    const handler: Handler = async (request) =>
      request.url.endsWith('/quick')
        ? Response.json(1)
        : new Response(body, { headers: { 'content-type': 'text/plain' } })
    const { app } = withUsualMiddleware(newApp())
    const responses: ServerResponse<IncomingMessage>[] = []
    app.use((_message, response, proceed) => {
      responses.push(response)
      proceed()
    })
    const { port, url } = await app.bind({ basePath, handler }).listen()
    const connection = await RawConnection.open(port)
    connection.socket.pause()
    connection.send(`GET ${basePath}/x HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n`)
    await until(() => given > 0)

    // All buffers up to the client are full once other requests no longer cause reads.
    let before = -1
    while (before !== given) {
      before = given
      for (let i = 0; i < 10; i++) await fetch(`${url}/api/s3/quick`)
    }
    expect(given).toBeLessThan(total / 2)

    connection.socket.resume()
    await connection.rest()
    expect(given).toBe(total)
  })
})
