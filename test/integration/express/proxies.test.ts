import { describe, expect, it } from 'vitest'
import { expressBinding } from '@svc/db/express'
import { echo, echoOf } from '../bindings/echo.js'
import { listen } from '../bindings/listening.js'
import { RawConnection } from '../bindings/raw-connection.js'
import { echoThroughProxy } from '../bindings/reverse-proxy.js'
import { versions } from './versions.js'

describe.each(versions)('behind a proxy, $name', ({ express }) => {
  it.each([
    { trust: true, origin: 'https://shop.example:8443' },
    { trust: 'loopback', origin: 'https://shop.example:8443' },
    { trust: 1, origin: 'https://shop.example:8443' },
    { trust: false, origin: 'http://internal.example' },
    { trust: '10.0.0.0/8', origin: 'http://internal.example' },
  ])('has the origin $origin (trust proxy of the outer application: $trust)', async ({ trust, origin }) => {
    const app = express()
    app.set('trust proxy', trust)
    app.use('/v1', express().use(expressBinding(echo)))

    expect(await echoThroughProxy(await listen(app))).toMatchObject({
      url: `${origin}/v1/api/s3/db/objects?limit=1`,
      basePath: '/v1/api/s3',
    })
  })

  it('ignores a host with a user from a trusted proxy', async () => {
    const app = express().use(expressBinding(echo))
    app.set('trust proxy', true)
    const { url } = await listen(app)

    const response = await fetch(`${url}/api/s3/x`, { headers: { 'x-forwarded-host': 'user@evil.example' } })

    expect(await echoOf(response)).toMatchObject({ url: 'http://localhost/api/s3/x' })
  })

  it.each(['user:password@evil.example', 'a,b'])('ignores the host %s', async (host) => {
    const { port } = await listen(express().use(expressBinding(echo)))
    const connection = await RawConnection.open(port)
    const response = await connection.send(`GET /api/s3/x HTTP/1.1\r\nHost: ${host}\r\n\r\n`).response()
    expect(await echoOf(response)).toMatchObject({ url: 'http://localhost/api/s3/x' })
  })
})
