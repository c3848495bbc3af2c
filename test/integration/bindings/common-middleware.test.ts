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

/** Both have types for Express, but use only what Node provides. */
const asStep = (middleware: (message: never, response: never, next: () => void) => void) => middleware as Step

/** Adds common middleware in front of the library. Returns the lines that morgan logs. */
function withUsualMiddleware(app: FrameworkApp): { app: FrameworkApp; log: string[] } {
  const log: string[] = []
  const stream = { write: (line: string) => void log.push(line.trim()) }
  app
    .use(asStep(morgan(':method :url :status :res[content-length]', { stream })))
    .use(helmet())
    .use(cors({ origin, credentials: true }))
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
    const identity = { ...headers, 'accept-encoding': 'identity' }
    const plain = await fetch(`${url}/api/s3/db/objects?limit=1`, { headers: identity })
    expect(plain.headers.get('content-length')).toBe(String((await plain.text()).length))
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

  it('pass streamed responses, and that a client disconnects early', async () => {
    const { body, cancelled } = unfinishedBody('a', 'b', 'c')
    const begun = deferred<Request>()
    const text = { headers: { 'content-type': 'text/plain' } }
    const handler: Handler = async (request) => {
      if (request.url.endsWith('/whole')) return new Response(new Blob(['0123456789']).stream(), text)
      begun.resolve(request)
      return new Response(body, text)
    }
    const { app, log } = withUsualMiddleware(newApp())
    const { port, url } = await app.bind({ basePath, handler }).listen()
    const whole = await fetch(`${url}/api/s3/whole`)
    expect([whole.headers.get('content-encoding'), await whole.text()]).toEqual(['gzip', '0123456789'])

    const connection = await RawConnection.open(port)
    connection.send(`GET ${basePath}/x HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n`)
    const { signal } = await begun.promise
    connection.socket.destroy()

    await cancelled
    expect(signal.aborted).toBe(true)
    await until(() => log.length === 2)
  })
})
