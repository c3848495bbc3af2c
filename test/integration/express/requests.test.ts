import type { IncomingMessage } from 'node:http'
import { describe, expect, it, vi } from 'vitest'
import { db, type Handler } from '@svc/db'
import { expressBinding, expressRequest, fetchRequest } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { echo, echoOf } from '../bindings/echo.js'
import { listen } from '../bindings/listening.js'
import { RawConnection } from '../bindings/raw-connection.js'
import { versions } from './versions.js'

describe.each(versions)('the Request in $name', ({ express }) => {
  async function echoOfRaw(app: ReturnType<typeof express>, head: string) {
    const { port } = await listen(app)
    const connection = await RawConnection.open(port)
    return echoOf(await connection.send(`${head}\r\n\r\n`).response())
  }

  it('keeps the bytes of headers', async () => {
    const { headers } = await echoOfRaw(
      express().use(expressBinding(echo)),
      'GET /api/s3/x HTTP/1.1\r\nHost: a\r\nX-Name: J\xfcrgen \xa0\xff\r\nX-Empty:\r\nX-Spaces:  a  b  ',
    )
    expect(headers).toMatchObject({ 'x-name': 'J\xfcrgen \xa0\xff', 'x-empty': '', 'x-spaces': 'a  b' })
  })

  it('keeps repeated headers', async () => {
    const { headers } = await echoOfRaw(
      express().use(expressBinding(echo)),
      'GET /api/s3/x HTTP/1.1\r\nHost: a\r\nX-Twice: 1\r\nCookie: a=1\r\nx-twice: 2\r\nCookie: b=2\r\nSet-Cookie: c\r\nSet-Cookie: d',
    )
    expect(headers).toMatchObject({ 'x-twice': '1, 2', cookie: 'a=1; b=2', 'set-cookie': 'd' })
  })

  it('has the headers as changed by middleware', async () => {
    const app = express()
    app.use((req, _res, next) => {
      delete req.headers['x-user']
      Object.assign(req.headers, {
        'x-trace': 'abc',
        ':path': '/pseudo',
        'x-unsendable': 'snow ☃',
        'x-gone': undefined,
      })
      next()
    })
    const { headers } = await echoOfRaw(
      app.use(expressBinding(echo)),
      'GET /api/s3/x HTTP/1.1\r\nHost: a\r\nX-User: invented',
    )
    expect(headers).toEqual({ host: 'a', 'x-trace': 'abc' })
  })

  it.each(['TRACE'])('supports %s, which the Request constructor rejects', async (method) => {
    const plugin = db({ client: memoryAdapter(), resolveScope: () => 'user:1' })
    const seen: string[] = []
    const handler: Handler = (request, options) => {
      seen.push(request.method, new Request(request).method)
      return plugin.handler(request, options)
    }
    const { port } = await listen(express().use(expressBinding({ ...plugin, handler })))
    const connection = await RawConnection.open(port)

    const response = await connection
      .send(`${method} /api/s3/db/objects HTTP/1.1\r\nHost: a\r\n\r\n`)
      .response()

    expect(response.status).toBe(405)
    expect(response.headers.map((line) => line.toLowerCase())).toContain('allow: get, head')
    expect(seen).toEqual([method, 'OPTIONS'])
  })

  it('is the same object for a request in every router, route and application', async () => {
    const seen = new Set<Request>()
    const binding = expressBinding({
      ...echo,
      handler: async (request) => {
        seen.add(request)
        return Response.json(null)
      },
    })
    const app = express()
    app.use((req, _res, next) => {
      seen.add(fetchRequest(req))
      next()
    })
    const inner = express().use('/api', (req, _res, next) => {
      seen.add(fetchRequest(req))
      next()
    })
    app.use('/v1', express.Router().use(inner), express.Router().use(binding))
    const { url } = await listen(app)

    await fetch(`${url}/v1/api/s3/db`)
    expect(seen.size).toBe(1)
    await fetch(`${url}/v1/api/s3/db`)
    expect(seen.size).toBe(2)
  })

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

  it('gives access to the Express request of the binding', async () => {
    const app = express()
    app.use((req, res, next) => {
      fetchRequest(req)
      const wrapped = Object.assign(Object.create(req) as typeof req, { tenant: 'acme' })
      const handler: Handler = async (request) =>
        Response.json([
          expressRequest(request) === wrapped,
          fetchRequest(expressRequest(request)) === request,
          'tenant' in expressRequest(request),
        ])
      expressBinding({ ...echo, handler })(wrapped, res, next)
    })
    const { url } = await listen(app)

    expect(await (await fetch(`${url}/api/s3/db`)).json()).toEqual([true, true, true])
  })

  it('is shared by two copies of the library, such as the ESM and the CommonJS build', async () => {
    vi.resetModules()
    const copy = await import('@svc/db/express')
    expect(copy.fetchRequest).not.toBe(fetchRequest)
    const app = express().use((req, res) => {
      const request = fetchRequest(req)
      res.json([copy.expressRequest(request) === req, copy.fetchRequest(req) === request])
    })
    const { url } = await listen(app)

    expect(await (await fetch(url)).json()).toEqual([true, true])
  })

  it('has no body, and leaves the stream to later handlers', async () => {
    const app = express()
    app.post('/files', (req, res) => {
      const request = fetchRequest(req)
      const chunks: Buffer[] = []
      req.on('data', (chunk: Buffer) => chunks.push(chunk))
      req.on('end', () => res.json([request.body, Buffer.concat(chunks).toString()]))
    })
    const { url } = await listen(app)

    const response = await fetch(`${url}/files`, { method: 'POST', body: 'bytes' })

    expect(await response.json()).toEqual([null, 'bytes'])
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
})
