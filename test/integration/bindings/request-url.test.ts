import { describe, expect, it } from 'vitest'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { echo, echoOf } from './echo.js'
import type { FrameworkApp } from './framework.js'
import { frameworks } from './frameworks.js'
import { RawConnection } from './raw-connection.js'

const atRoot = { ...echo, basePath: '' }

const targets: Readonly<Record<string, string>> = {
  '/api/s3/db/objects?limit=1': '/api/s3/db/objects?limit=1',
  '//evil.example/path': '//evil.example/path',
  '///evil.example': '///evil.example',
  '/\\evil.example': '//evil.example',
  '/@evil.example/x': '/@evil.example/x',
  '/http://evil.example/x': '/http://evil.example/x',
  'http://evil.example/path?x=1': '/path?x=1',
  'HTTPS://user:password@evil.example:1/path': '/path',
  'http://evil.example': '/',
  'http://evil.example?x=1': '/?x=1',
  'http://evil.example//other.example': '//other.example',
  '/a%2Fb%00?%zz': '/a%2Fb%00?%zz',
  '/?x=http://evil.example': '/?x=http://evil.example',
}

const hosts: Readonly<Record<string, string>> = {
  'Example.COM:8080': 'example.com:8080',
  '[::1]:8080': '[::1]:8080',
  'my_host-1': 'my_host-1',
  'xn--bcher-kva.example': 'xn--bcher-kva.example',
  '10.0.0.1': '10.0.0.1',
}
const invalidHosts = [
  ...['', 'evil.example/path', 'evil.example?x', 'evil.example#x', 'evil.example\\x', 'two words'],
  ...['[::1', '1.2.3.4.5', 'host:99999', 'host:port', 'b\xfccher.example'],
]

/** Headers of a trusted proxy and the origin or scheme; `null`: that of the request. */
const forwards = (used: 'first' | 'last'): readonly (readonly [Record<string, string>, string | null])[] => [
  [{ 'x-forwarded-host': 'first.example , last.example' }, `http://${used}.example`],
  [{ 'x-forwarded-host': 'evil.example/path' }, 'http://localhost'],
  [{ 'x-forwarded-host': '' }, null],
  [{}, null],
  [{ 'x-forwarded-proto': used === 'first' ? 'https, http' : 'http, https' }, 'https'],
  [{ 'x-forwarded-proto': 'javascript', 'x-forwarded-host': 'a.example' }, 'http://a.example'],
  ...[
    ['a.example', '8443', 'https://a.example:8443'],
    ['[::1]', '8443', 'https://[::1]:8443'],
    ['a.example:1', '8443', 'https://a.example:1'],
    ['a.example', '443', 'https://a.example'],
    // The port of a proxy behind the one that ends TLS.
    ['a.example', '80', 'https://a.example'],
    ['a.example', '8443@evil.example', 'https://a.example'],
    ['a.example', '8443, 80', 'https://a.example'],
  ].map(([host, port, origin]) => forwardsPort(host!, port!, origin!)),
]

/** The headers of nginx's usual configuration. */
function forwardsPort(host: string, port: string, origin: string) {
  const forwarded = { 'x-forwarded-host': host, 'x-forwarded-port': port }
  return [{ ...forwarded, 'x-forwarded-proto': 'https', 'x-forwarded-for': '10.0.0.1' }, origin] as const
}

// Routers match the path as sent. Another spelling of it must not bypass their guards.
const spellings: Readonly<Record<string, number>> = {
  '/api/s3/db/objects': 200,
  '/api/s3/db/objects#fragment': 200,
  '/api/s3/db/objects?x#/../': 200,
  '/api/s3/other/../db/objects': 404,
  '/api/s3/./db/objects': 404,
  '/api/s3/%2e/db/objects': 404,
  '/api/s3/x/%2E%2e/db/objects': 404,
  '/api/s3/db\\objects': 404,
  '/api/s3/../s3/db/objects': 404,
  '/api/s3//db/objects': 404,
  '/api/s3/db%2Fobjects': 404,
  // A limiter on the exact path would miss it.
  '/api/s3/db/objects/': 404,
  '/api/s3/db/objects//': 404,
}

describe.each(frameworks)('the URL of a request in $name', (framework) => {
  const { app: newApp, forwarded, refusesMalformedPaths } = framework

  async function connectTo(app: FrameworkApp) {
    const { port } = await app.listen()
    const connection = await RawConnection.open(port)
    return (target: string, { host = 'good.example:8080', method = 'GET' } = {}) =>
      connection.send(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`).response()
  }

  it('keeps the host for any target', async () => {
    const ask = await connectTo(newApp().bind(atRoot))
    const all = { ...targets, ...(!refusesMalformedPaths && { '/%?%zz': '/%?%zz' }) }
    for (const [target, expected] of Object.entries(all)) {
      const { url } = await echoOf(await ask(target))
      expect([target, url]).toEqual([target, `http://good.example:8080${expected}`])
    }
    const { url } = await echoOf(await ask('*', { method: 'OPTIONS' }))
    expect(url).toBe('http://good.example:8080/*')
  })

  it('has the host of the header if it is valid', async () => {
    const ask = await connectTo(newApp().bind(atRoot))
    for (const [host, expected] of Object.entries(hosts)) {
      const { url } = await echoOf(await ask('/x', { host }))
      expect([host, url]).toEqual([host, `http://${expected}/x`])
    }
    for (const host of invalidHosts) {
      const { url } = await echoOf(await ask('/x', { host }))
      expect([host, url]).toEqual([host, 'http://localhost/x'])
    }
  })

  it('has a host even if the request has none', async () => {
    const { port } = await newApp().bind(atRoot).listen()
    const connection = await RawConnection.open(port)

    const response = await connection.send('GET /x HTTP/1.0\r\n\r\n').rest()

    expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(response).toContain('"url":"http://localhost/x"')
  })

  it('has the origin that a trusted proxy forwards', async () => {
    const { url, host } = await newApp({ trustsProxy: true }).bind(echo, '/v1').listen()
    for (const [headers, origin] of forwards(forwarded)) {
      const response = await fetch(`${url}/v1/api/s3/x`, { headers })
      const expected = origin === null ? url : origin.includes('://') ? origin : `${origin}://${host}`
      expect([headers, await echoOf(response)]).toMatchObject([
        headers,
        { url: `${expected}/v1/api/s3/x`, basePath: '/v1/api/s3' },
      ])
    }
    const untrusting = await newApp({ trustsProxy: false }).bind(echo).listen()
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example' }
    expect(await echoOf(await fetch(`${untrusting.url}/api/s3/x`, { headers }))).toMatchObject({
      url: `${untrusting.url}/api/s3/x`,
    })
    const connection = await RawConnection.open(untrusting.port)
    const lines = ['Host: good.example', 'X-Forwarded-Port: 1', 'X-Forwarded-For: 10.0.0.1']
    const answer = await connection.send(`GET /api/s3/x HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`).response()
    expect(await echoOf(answer)).toMatchObject({ url: 'http://good.example/api/s3/x' })
  })

  it('finds the base path in an absolute target', async () => {
    const ask = await connectTo(newApp().bind(echo, '/v1').bind(echo, '/v2/api/s3'))
    for (const basePath of ['/v1/api/s3', '/v2/api/s3']) {
      expect(await echoOf(await ask(`http://evil.example${basePath}/db`))).toMatchObject({
        url: `http://good.example:8080${basePath}/db`,
        basePath,
      })
    }
  })

  it('reaches an endpoint only in its exact spelling', async () => {
    const plugin = db({ client: memoryAdapter(), resolveScope: () => 'user:1' })
    const ask = await connectTo(newApp().bind(plugin, '/api/s3'))
    for (const [path, status] of Object.entries(spellings)) {
      const response = await ask(path)
      expect([path, response.status]).toEqual([path, status])
      if (status === 404) expect(JSON.parse(response.body)).toMatchObject({ code: 'NOT_FOUND' })
    }
  })

  it('reaches it with a slash at the end, too, if the server has the option', async () => {
    const s3 = createS3Server({
      storage: memoryStorage(),
      bucket: 'files',
      plugins: [db({ client: memoryAdapter(), resolveScope: () => 'user:1' })],
      trailingSlash: true,
    })
    const ask = await connectTo(newApp().bind(s3, '/api/s3'))
    expect((await ask('/api/s3/db/objects/')).status).toBe(200)
    expect((await ask('/api/s3/db/objects//')).status).toBe(404)
  })

  it.each([
    ['removes the start of the path', '/v1/api/s3/db?limit=1', '/v1', '', '/v1/api/s3/db?limit=1'],
    ['changes the path', '/files?limit=1', '/files', '/api/s3/db/objects', '/api/s3/db/objects?limit=1'],
    ['adds a query', '/api/s3/db', '/db', '/db?route=avatars', '/api/s3/db?route=avatars'],
  ])('can be rewritten: the application %s', async (_what, path, from, to, expected) => {
    const app = newApp().useRewrite((target) => target.replace(from, to))
    const { url } = await app.bind(echo).listen()
    expect(await echoOf(await fetch(url + path))).toMatchObject({
      url: url + expected,
      basePath: expected.slice(0, expected.indexOf('/db')),
    })
  })
})
