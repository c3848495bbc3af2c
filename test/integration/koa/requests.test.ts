import Koa from 'koa'
import { describe, expect, it } from 'vitest'
import type { Handler } from '@svc/db'
import { fetchRequest, koaBinding, koaContext } from '@svc/db/koa'
import { echo, echoOf } from '../bindings/echo.js'
import { RawConnection } from '../bindings/raw-connection.js'
import { listenWith } from './versions.js'

describe('the Request in Koa 3', () => {
  it('gives access to the context of the binding, with its state', async () => {
    const handler: Handler = async (request) =>
      Response.json([
        'tenant' in koaContext(request),
        fetchRequest(koaContext(request)) === request,
        koaContext(request).state,
      ])
    const app = new Koa().use((ctx, next) => {
      fetchRequest(ctx)
      ctx.state = { user: 'ann' }
      const wrapped = Object.assign(Object.create(ctx) as typeof ctx, { tenant: 'acme' })
      return koaBinding({ ...echo, handler })(wrapped, next)
    })
    const { url } = await listenWith(app)

    expect(await (await fetch(`${url}/api/s3/db`)).json()).toEqual([true, true, { user: 'ann' }])
  })

  it('has the host that Koa parses from the header', async () => {
    const { port } = await listenWith(new Koa().use(koaBinding(echo)))
    const connection = await RawConnection.open(port)
    const hosts = { 'user:password@other.example': 'other.example', 'a,b': 'a', '[::1': 'localhost' }
    for (const [header, host] of Object.entries(hosts)) {
      connection.send(`GET /api/s3/x HTTP/1.1\r\nHost: ${header}\r\n\r\n`)
      expect(await echoOf(await connection.response())).toMatchObject({ url: `http://${host}/api/s3/x` })
    }
  })
})
