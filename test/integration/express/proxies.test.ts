import { describe, expect, it } from 'vitest'
import { expressBinding } from '@svc/db/express'
import { echo, echoOf } from '../bindings/echo.js'
import { listen } from '../bindings/listening.js'
import { FORWARDED, proxyTo } from '../bindings/reverse-proxy.js'
import { RawConnection } from '../bindings/raw-connection.js'
import { versions } from './versions.js'

describe.each(versions)('behind a proxy, $name', ({ express }) => {
  it.each([
    { trust: true, origin: 'https://shop.example:8443' },
    { trust: 'loopback', origin: 'https://shop.example:8443' },
    { trust: 1, origin: 'https://shop.example:8443' },
    { trust: false, origin: 'http://internal.example' },
    { trust: '10.0.0.0/8', origin: 'http://internal.example' },
  ])('trust proxy $trust: $origin', async ({ trust, origin }) => {
    const app = express()
    app.set('trust proxy', trust)
    app.use('/v1', express().use(expressBinding(echo)))
    const { url } = await proxyTo(await listen(app), FORWARDED)

    const response = await fetch(`${url}/app/v1/api/s3/db/objects?limit=1`)

    expect(await echoOf(response)).toMatchObject({
      url: `${origin}/v1/api/s3/db/objects?limit=1`,
      basePath: '/v1/api/s3',
    })
  })

  it.each([
    [{ 'x-forwarded-host': 'first.example , second.example' }, 'http://first.example'],
    [{ 'x-forwarded-host': 'user@evil.example' }, 'http://localhost'],
    [{ 'x-forwarded-host': '' }, null],
    [{}, null],
    [{ 'x-forwarded-proto': 'https, http' }, 'https'],
    [{ 'x-forwarded-proto': 'javascript', 'x-forwarded-host': 'a.example' }, 'http://a.example'],
  ])('trusted %j: %s', async (headers: Record<string, string>, origin) => {
    const app = express().use(expressBinding(echo))
    app.set('trust proxy', true)
    const { url, host } = await listen(app)

    const response = await fetch(`${url}/api/s3/x`, { headers })

    const expected = origin === null ? url : origin.includes('://') ? origin : `${origin}://${host}`
    expect(await echoOf(response)).toMatchObject({ url: `${expected}/api/s3/x` })
  })

  it.each(['user:password@evil.example', 'a,b'])('takes no host from %s', async (host) => {
    const { port } = await listen(express().use(expressBinding(echo)))
    const connection = await RawConnection.open(port)
    const response = await connection.send(`GET /api/s3/x HTTP/1.1\r\nHost: ${host}\r\n\r\n`).response()
    expect(await echoOf(response)).toMatchObject({ url: 'http://localhost/api/s3/x' })
  })
})
