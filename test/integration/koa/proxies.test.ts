import mount from 'koa-mount'
import { describe, expect, it } from 'vitest'
import { koaBinding } from '@svc/db/koa'
import { echo, echoOf } from '../bindings/echo.js'
import { RawConnection } from '../bindings/raw-connection.js'
import { FORWARDED, proxyTo } from '../bindings/reverse-proxy.js'
import { listenWith, versions } from './versions.js'

describe.each(versions)('behind a proxy, $name', ({ Koa }) => {
  it.each([
    { proxy: true, origin: 'https://shop.example:8443' },
    { proxy: false, origin: 'http://internal.example' },
  ])('app.proxy $proxy: $origin', async ({ proxy, origin }) => {
    const app = new Koa({ proxy }).use(mount('/v1', koaBinding(echo)))
    const { url } = await proxyTo(await listenWith(app), FORWARDED)

    const response = await fetch(`${url}/app/v1/api/s3/db/objects?limit=1`)

    expect(await echoOf(response)).toMatchObject({
      url: `${origin}/v1/api/s3/db/objects?limit=1`,
      basePath: '/v1/api/s3',
    })
  })

  it.each([
    [{ 'x-forwarded-host': 'first.example , second.example' }, 'http://first.example'],
    [{ 'x-forwarded-host': 'evil.example/path' }, 'http://localhost'],
    [{ 'x-forwarded-host': '' }, null],
    [{}, null],
    [{ 'x-forwarded-proto': 'https, http' }, 'https'],
    [{ 'x-forwarded-proto': 'javascript', 'x-forwarded-host': 'a.example' }, 'http://a.example'],
  ])('trusted %j: %s', async (headers: Record<string, string>, origin) => {
    const { url, host } = await listenWith(new Koa({ proxy: true }).use(koaBinding(echo)))

    const response = await fetch(`${url}/api/s3/x`, { headers })

    const expected = origin === null ? url : origin.includes('://') ? origin : `${origin}://${host}`
    expect(await echoOf(response)).toMatchObject({ url: `${expected}/api/s3/x` })
  })

  it('takes the host that Koa makes of the header', async () => {
    const { port } = await listenWith(new Koa().use(koaBinding(echo)))
    const connection = await RawConnection.open(port)
    const hosts = { 'user:password@other.example': 'other.example', 'a,b': 'a', '[::1': 'localhost' }
    for (const [header, host] of Object.entries(hosts)) {
      connection.send(`GET /api/s3/x HTTP/1.1\r\nHost: ${header}\r\n\r\n`)
      expect(await echoOf(await connection.response())).toMatchObject({ url: `http://${host}/api/s3/x` })
    }
  })
})
