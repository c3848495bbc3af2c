import { describe, expect, it } from 'vitest'
import { koaBinding } from '@svc/db/koa'
import { echo, echoOf } from '../bindings/echo.js'
import { RawConnection } from '../bindings/raw-connection.js'
import { listenWith, versions } from './versions.js'

describe.each(versions)('the host of a request, $name', ({ Koa }) => {
  it('is the one that Koa parses from the header', async () => {
    const { port } = await listenWith(new Koa().use(koaBinding(echo)))
    const connection = await RawConnection.open(port)
    const hosts = { 'user:password@other.example': 'other.example', 'a,b': 'a', '[::1': 'localhost' }
    for (const [header, host] of Object.entries(hosts)) {
      connection.send(`GET /api/s3/x HTTP/1.1\r\nHost: ${header}\r\n\r\n`)
      expect(await echoOf(await connection.response())).toMatchObject({ url: `http://${host}/api/s3/x` })
    }
  })
})
