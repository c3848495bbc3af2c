import { describe, expect, it, vi } from 'vitest'
import { db, type Handler } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { echo, echoOf } from './echo.js'
import { everyFramework, frameworks } from './frameworks.js'
import { RawConnection } from './raw-connection.js'

describe.each(everyFramework)('the Request in $name', ({ app: newApp, load }) => {
  it('is the same object in all middleware and for the library', async () => {
    const seen = new Set<Request>()
    const see = async (request: Request) => void seen.add(request)
    const handler: Handler = async (request) => {
      await see(request)
      return Response.json(null)
    }
    const { url } = await newApp()
      .useWork(see)
      .useWork(see)
      .bind({ ...echo, handler }, '/v1')
      .listen()

    await fetch(`${url}/v1/api/s3/x`)
    expect(seen.size).toBe(1)
    await fetch(`${url}/v1/api/s3/x`)
    expect(seen.size).toBe(2)
  })

  it('is shared by two copies of the library, such as the ESM and the CommonJS build', async () => {
    vi.resetModules()
    const copy = await load()
    const seen: unknown[] = []
    const app = newApp().useWork(async (request) => {
      const own = copy.ownRequest(request)
      seen.push(copy.fetchRequest(own as never) === request)
    })
    const { url } = await app.bind(echo).listen()

    await fetch(`${url}/api/s3/x`)

    expect(seen).toEqual([true])
  })

  it('has any method', async () => {
    const { url } = await newApp().bind(echo).listen()
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      expect(await echoOf(await fetch(`${url}/api/s3/db/objects`, { method }))).toMatchObject({ method })
    }
  })

  it('must come from the binding or fetchRequest()', async () => {
    const { ownRequest } = await load()
    expect(() => ownRequest(new Request('http://localhost/'))).toThrow(TypeError)
  })

  it('is served by a function with a name, which traces show', async () => {
    const { binding } = await load()
    expect(binding(echo)).toHaveProperty('name', binding.name)
  })

  it('is served only for the result of createS3Server() or db()', async () => {
    const { binding } = await load()
    for (const wrong of [{}, { handler: echo.handler }, { basePath: '' }]) {
      expect(() => binding(wrong as typeof echo)).toThrow(/createS3Server\(\) or db\(\)/)
    }
  })
})

describe.each(frameworks)('the Request in $name', ({ app: newApp }) => {
  it('keeps the bytes of headers, and repeated headers', async () => {
    const { port } = await newApp().bind(echo).listen()
    const connection = await RawConnection.open(port)
    connection.send('GET /api/s3/x HTTP/1.1\r\nHost: a\r\nX-Name: J\xfcrgen \xa0\xff\r\nX-Empty:\r\n')
    connection.send('X-Spaces:  a  b  \r\nX-Twice: 1\r\nCookie: a=1\r\nx-twice: 2\r\nCookie: b=2\r\n')
    connection.send('Set-Cookie: c\r\nSet-Cookie: d\r\n\r\n')

    expect((await echoOf(await connection.response())).headers).toEqual({
      ...{ host: 'a', 'x-name': 'J\xfcrgen \xa0\xff', 'x-empty': '', 'x-spaces': 'a  b' },
      ...{ 'x-twice': '1, 2', cookie: 'a=1; b=2', 'set-cookie': 'd' },
    })
  })

  it('can have the method TRACE, which the Request constructor rejects', async () => {
    const plugin = db({ client: memoryAdapter(), resolveScope: () => 'user:1' })
    const seen: string[] = []
    const handler: Handler = (request, options) => {
      seen.push(request.method, new Request(request).method)
      return plugin.handler(request, options)
    }
    const { port } = await newApp()
      .bind({ ...plugin, handler })
      .listen()
    const connection = await RawConnection.open(port)

    const response = await connection.send('TRACE /api/s3/db/objects HTTP/1.1\r\nHost: a\r\n\r\n').response()

    expect(response.status).toBe(405)
    expect(response.headers.map((line) => line.toLowerCase())).toContain('allow: get, head')
    expect(seen).toEqual(['TRACE', 'OPTIONS'])
  })
})
