import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import express from 'express'
import { describe, expect, it } from 'vitest'
import type { Handler } from '@svc/db'
import { expressBinding, expressRequest, fetchRequest } from '@svc/db/express'
import { echo, echoOf } from '../bindings/echo.js'
import { deferred } from '../bindings/deferred.js'
import { listen } from '../bindings/listening.js'
import { RawConnection } from '../bindings/raw-connection.js'

describe('the Request in Express 5', () => {
  it('is the same object for proxies and copies of the Express request', async () => {
    const app = express()
    app.use((req, res) => {
      const derived: typeof req = Object.create(req) as typeof req
      const proxy = new Proxy(req, {})
      const requests = [derived, proxy, req, derived, { ...req, headers: req.headers } as typeof req].map(
        fetchRequest,
      )
      res.json(new Set(requests).size)
    })
    const { url } = await listen(app)

    expect(await (await fetch(url)).json()).toBe(1)
  })

  it('gives access to the Express request of the binding, and has its headers', async () => {
    const app = express()
    app.use((req, res, next) => {
      fetchRequest(req)
      const own = { tenant: { value: 'acme' }, headers: { value: { 'x-name': 'ann' } } }
      const wrapped = Object.create(req, own) as typeof req
      const handler: Handler = async (request) =>
        Response.json([
          expressRequest(request) === wrapped,
          fetchRequest(expressRequest(request)) === request,
          Object.fromEntries(request.headers),
        ])
      expressBinding({ ...echo, handler })(wrapped, res, next)
    })
    const { url } = await listen(app)

    const response = await fetch(`${url}/api/s3/db`, { headers: { 'x-name': 'eve' } })

    expect(await response.json()).toEqual([true, true, { 'x-name': 'ann' }])
  })

  it('can be created without a response', async () => {
    const app = express()
    app.use((req, res) => {
      const { method, headers, rawHeaders, originalUrl, url, baseUrl, protocol, socket } = req
      const bare = { method, headers, rawHeaders, originalUrl, url, baseUrl, protocol, socket, app: req.app }
      const { signal } = fetchRequest(bare as unknown as typeof req & IncomingMessage)
      res.json(signal.aborted)
    })
    const { url } = await listen(app)

    expect(await (await fetch(url)).json()).toBe(false)
  })

  it('has the origin that the proxies forward which the outer application trusts', async () => {
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'shop.example:8443' }
    for (const [trust, isTrusted] of [
      ['loopback', true],
      [1, true],
      ['10.0.0.0/8', false],
    ] as const) {
      const app = express()
      app.set('trust proxy', trust)
      const { url } = await listen(app.use('/v1', express().use(expressBinding(echo))))

      const seen = await echoOf(await fetch(`${url}/v1/api/s3/db?limit=1`, { headers }))

      const origin = isTrusted ? 'https://shop.example:8443' : url
      expect([trust, seen.url]).toEqual([trust, `${origin}/v1/api/s3/db?limit=1`])
    }
  })

  it('has no host with a user or a list', async () => {
    const { port } = await listen(express().use(expressBinding(echo)))
    const connection = await RawConnection.open(port)
    for (const host of ['user:password@evil.example', 'a,b']) {
      const response = await connection.send(`GET /api/s3/x HTTP/1.1\r\nHost: ${host}\r\n\r\n`).response()
      expect(await echoOf(response)).toMatchObject({ url: 'http://localhost/api/s3/x' })
    }
    const trusting = express().set('trust proxy', true).use(expressBinding(echo))
    const headers = { 'x-forwarded-host': 'user@evil.example' }
    const response = await fetch(`${(await listen(trusting)).url}/api/s3/x`, { headers })
    expect(await echoOf(response)).toMatchObject({ url: 'http://localhost/api/s3/x' })
  })
})

// Express middleware may wait for `res.end`, as express-session does to save. Koa middleware waits for `next()` instead.
it('a response in Express 5 is ended even if the client has disconnected', async () => {
  const called = deferred<Request>()
  const handler: Handler = async (request) => {
    called.resolve(request)
    await once(request.signal, 'abort')
    return new Response('unread')
  }
  const ended = deferred<boolean>()
  const app = express().use((_req, res, next) => {
    const end = res.end.bind(res) as () => typeof res
    res.end = () => {
      ended.resolve(res.socket?.destroyed !== false)
      return end()
    }
    next()
  })
  const { port } = await listen(app.use(expressBinding({ basePath: '/api/s3', handler })))
  const connection = await RawConnection.open(port)
  connection.send('GET /api/s3/x HTTP/1.1\r\nHost: a\r\n\r\n')
  await called.promise

  connection.socket.destroy()

  expect(await ended.promise).toBe(true)
})
