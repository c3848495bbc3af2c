import { describe, expect, it } from 'vitest'
import { db } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { echo, echoOf } from './echo.js'
import { RawConnection } from './raw-connection.js'
import { frameworks } from './frameworks.js'

const atRoot = { ...echo, basePath: '' }

describe.each(frameworks)('the URL of a request in $name', ({ app: newApp, refusesMalformedPaths }) => {
  async function ask(target: string, { host = 'good.example:8080', method = 'GET' } = {}) {
    const { port } = await newApp().bind(atRoot).listen()
    const connection = await RawConnection.open(port)
    const response = await connection.send(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`).response()
    return { status: response.status, ...(await echoOf(response)) }
  }

  it.each([
    ['/api/s3/db/objects?limit=1', '/api/s3/db/objects?limit=1'],
    ['//evil.example/path', '//evil.example/path'],
    ['///evil.example', '///evil.example'],
    ['/\\evil.example', '//evil.example'],
    ['/@evil.example/x', '/@evil.example/x'],
    ['/http://evil.example/x', '/http://evil.example/x'],
    ['http://evil.example/path?x=1', '/path?x=1'],
    ['HTTPS://user:password@evil.example:1/path', '/path'],
    ['http://evil.example', '/'],
    ['http://evil.example?x=1', '/?x=1'],
    ['http://evil.example//other.example', '//other.example'],
    ['/a%2Fb%00?%zz', '/a%2Fb%00?%zz'],
    ['/?x=http://evil.example', '/?x=http://evil.example'],
  ])('keeps the host for the target %s', async (target, expected) => {
    expect(await ask(target)).toMatchObject({ status: 200, url: `http://good.example:8080${expected}` })
  })

  it.skipIf(refusesMalformedPaths)('keeps invalid percent-encodings in the path', async () => {
    expect(await ask('/%?%zz')).toMatchObject({ status: 200, url: 'http://good.example:8080/%?%zz' })
  })

  it('treats * as a path', async () => {
    expect(await ask('*', { method: 'OPTIONS' })).toMatchObject({ url: 'http://good.example:8080/*' })
  })

  it.each([
    ['Example.COM:8080', 'example.com:8080'],
    ['[::1]:8080', '[::1]:8080'],
    ['my_host-1', 'my_host-1'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['10.0.0.1', '10.0.0.1'],
  ])('accepts the host %s', async (host, expected) => {
    expect(await ask('/x', { host })).toMatchObject({ url: `http://${expected}/x` })
  })

  it.each([
    '',
    'evil.example/path',
    'evil.example?x',
    'evil.example#x',
    'evil.example\\x',
    'two words',
    '[::1',
    '1.2.3.4.5',
    'host:99999',
    'host:port',
    'b\xfccher.example',
  ])('ignores the invalid host %j', async (host) => {
    expect(await ask('/x', { host })).toMatchObject({ status: 200, url: 'http://localhost/x' })
  })

  it('responds to a request without Host', async () => {
    const { port } = await newApp().bind(atRoot).listen()
    const connection = await RawConnection.open(port)

    const response = await connection.send('GET /x HTTP/1.0\r\n\r\n').rest()

    expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(response).toContain('"url":"http://localhost/x"')
  })

  it('finds the base path in an absolute target', async () => {
    const { port } = await newApp().bind(echo, '/v1').bind(echo, '/v2/api/s3').listen()
    const connection = await RawConnection.open(port)

    for (const base of ['/v1/api/s3', '/v2/api/s3']) {
      const response = await connection
        .send(`GET http://evil.example${base}/db HTTP/1.1\r\nHost: good.example\r\n\r\n`)
        .response()
      expect(await echoOf(response)).toMatchObject({ url: `http://good.example${base}/db`, basePath: base })
    }
  })

  // Routers match the path as sent. Another spelling of it must not bypass their guards.
  it.each([
    ['/api/s3/db/objects', 200],
    ['/api/s3/db/objects#fragment', 200],
    ['/api/s3/db/objects?x#/../', 200],
    ['/api/s3/other/../db/objects', 404],
    ['/api/s3/./db/objects', 404],
    ['/api/s3/%2e/db/objects', 404],
    ['/api/s3/x/%2E%2e/db/objects', 404],
    ['/api/s3/db\\objects', 404],
    ['/api/s3/../s3/db/objects', 404],
    ['/api/s3//db/objects', 404],
    ['/api/s3/db%2Fobjects', 404],
    ['/api/s3/db/objects/', 404],
  ])('returns for %s the status %d', async (path, status) => {
    const plugin = db({ client: memoryAdapter(), resolveScope: () => 'user:1' })
    const { port } = await newApp().bind(plugin, '/api/s3').listen()
    const connection = await RawConnection.open(port)

    const response = await connection.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).response()

    expect(response.status).toBe(status)
    if (status === 404) expect(JSON.parse(response.body)).toMatchObject({ code: 'NOT_FOUND' })
  })

  describe('rewritten by the application', () => {
    async function rewritten(path: string, rewrite: (url: string) => string) {
      const app = newApp().useRewrite(rewrite)
      const { url, host } = await app.bind(echo).listen()
      const { url: seen, basePath } = await echoOf(await fetch(url + path))
      return { url: seen.replace(host, 'host'), basePath }
    }

    it('keeps the start of the requested path', async () => {
      expect(await rewritten('/v1/api/s3/db?limit=1', (url) => url.replace('/v1', ''))).toEqual({
        url: 'http://host/v1/api/s3/db?limit=1',
        basePath: '/v1/api/s3',
      })
    })

    it('has the new path', async () => {
      expect(await rewritten('/files?limit=1', (url) => url.replace('/files', '/api/s3/db/objects'))).toEqual(
        {
          url: 'http://host/api/s3/db/objects?limit=1',
          basePath: '/api/s3',
        },
      )
    })

    it('has the new query', async () => {
      expect(await rewritten('/api/s3/db/objects', (url) => `${url}?route=avatars`)).toEqual({
        url: 'http://host/api/s3/db/objects?route=avatars',
        basePath: '/api/s3',
      })
    })
  })
})
