import mount from 'koa-mount'
import { describe, expect, it, vi } from 'vitest'
import type { Handler } from '@svc/db'
import { fetchRequest, koaBinding, koaContext } from '@svc/db/koa'
import { echo, echoOf } from '../bindings/echo.js'
import { listenWith, versions } from './versions.js'

describe.each(versions)('the Request in $name', ({ Koa }) => {
  it('has the headers as changed by middleware', async () => {
    const app = new Koa().use((ctx, next) => {
      delete ctx.headers['x-user']
      ctx.headers['x-trace'] = 'abc'
      return next()
    })
    const { url } = await listenWith(app.use(koaBinding(echo)))

    const { headers } = await echoOf(await fetch(`${url}/api/s3/x`, { headers: { 'x-user': 'made up' } }))

    expect(headers).toMatchObject({ 'x-trace': 'abc' })
    expect(headers).not.toHaveProperty('x-user')
  })

  it('is the same object for a request in every middleware and application', async () => {
    const seen = new Set<Request>()
    const binding = koaBinding({
      ...echo,
      handler: async (request) => {
        seen.add(request)
        return Response.json(null)
      },
    })
    const app = new Koa().use((ctx, next) => {
      seen.add(fetchRequest(ctx))
      return next()
    })
    const inner = new Koa().use((ctx, next) => {
      seen.add(fetchRequest(ctx))
      return next()
    })
    const { url } = await listenWith(app.use(mount('/v1', inner.use(binding))))

    await fetch(`${url}/v1/api/s3/db`)
    expect(seen.size).toBe(1)
    await fetch(`${url}/v1/api/s3/db`)
    expect(seen.size).toBe(2)
  })

  it('gives access to the context of the binding', async () => {
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

  it('is shared by two copies of the library, such as the ESM and the CommonJS build', async () => {
    vi.resetModules()
    const copy = await import('@svc/db/koa')
    expect(copy.fetchRequest).not.toBe(fetchRequest)
    const app = new Koa().use((ctx) => {
      const request = fetchRequest(ctx)
      ctx.body = [copy.koaContext(request) === ctx, copy.fetchRequest(ctx) === request]
    })
    const { url } = await listenWith(app)

    expect(await (await fetch(url)).json()).toEqual([true, true])
  })

  it('has no body, and leaves the stream to later handlers', async () => {
    const app = new Koa().use(async (ctx) => {
      const request = fetchRequest(ctx)
      ctx.body = [request.body, Buffer.concat((await ctx.req.toArray()) as Buffer[]).toString()]
    })
    const { url } = await listenWith(app)

    const response = await fetch(`${url}/files`, { method: 'POST', body: 'bytes' })

    expect(await response.json()).toEqual([null, 'bytes'])
  })
})
