import Router from '@koa/router'
import Koa from 'koa'
import mount from 'koa-mount'
import { describe, expect, it } from 'vitest'
import { koaBinding, type KoaMiddleware } from '@svc/db/koa'
import { echo } from '../bindings/echo.js'
import { describeMounts, mountedPaths, type Mount } from '../bindings/mounting-table.js'
import { listenWith, type App } from './versions.js'

interface KoaMount extends Mount<App, KoaMiddleware> {
  /** Default `/api/s3`. */
  readonly basePath?: string
}

const mounts: readonly KoaMount[] = [
  { how: 'app.use(b)', mount: (app, b) => app.use(b), paths: mountedPaths.root },
  { how: "mount('/api/s3', b)", mount: (app, b) => app.use(mount('/api/s3', b)), paths: mountedPaths.base },
  { how: "mount('/v1', b)", mount: (app, b) => app.use(mount('/v1', b)), paths: mountedPaths.prefix },
  {
    how: "mount('/api/s3/', b)",
    mount: (app, b) => app.use(mount('/api/s3/', b)),
    paths: { '/api/s3/db/objects': '/api/s3', '/api/s3/': '/api/s3', '/api/s3': null },
  },
  {
    how: 'mounts that form the base path together',
    mount: (app, b) => app.use(mount('/v1', mount('/api', mount('/s3', b)))),
    paths: {
      '/v1/api/s3/db': '/v1/api/s3',
      '/v1/api/s3': '/v1/api/s3',
      '/v1/api/s3?limit=1': '/v1/api/s3',
      '/v1/api/db': null,
    },
  },
  {
    how: 'an application in an application',
    mount: (app, b) => app.use(mount('/a', new Koa().use(mount('/b', new Koa().use(b))))),
    paths: { '/a/b/api/s3/db': '/a/b/api/s3', '/a/b': null },
  },
  {
    how: 'a route',
    mount: (app, b) => app.use(new Router().all('/api/s3/{*rest}', b).routes()),
    paths: { '/api/s3/db/objects': '/api/s3', '/api/s3/': '/api/s3', '/api/s3x': null, '/api': null },
  },
  {
    how: 'a route of nested routers, with its full path as the base path',
    mount(app, b) {
      const inner = new Router({ prefix: '/files' }).all('/{*rest}', b)
      app.use(new Router({ prefix: '/v1' }).use('/:tenant', inner.routes()).routes())
    },
    basePath: '/v1/acme/files',
    paths: { '/v1/acme/files/db': '/v1/acme/files', '/v1/other/files/db': null, '/v1/acme': null },
  },
]

describe('mounting in Koa 3', () => {
  describeMounts(mounts, ({ mount, basePath = echo.basePath }) => {
    const app = new Koa()
    mount(app, koaBinding({ ...echo, basePath }))
    app.use((ctx) => {
      ctx.status = 404
      ctx.body = 'the next handler'
    })
    return listenWith(app)
  })

  it('does not change path and url for the next middleware', async () => {
    const app = new Koa().use(
      mount(
        '/v1',
        new Koa().use(koaBinding(echo)).use((ctx) => {
          ctx.body = [ctx.path, ctx.url, ctx.originalUrl, ctx.status]
        }),
      ),
    )
    const { url } = await listenWith(app)

    const response = await fetch(`${url}/v1/files?x=1`)

    expect(await response.json()).toEqual(['/files', '/files?x=1', '/v1/files?x=1', 404])
  })

  it('keeps its responses with allowedMethods() of a router', async () => {
    const router = new Router().get('/api/s3/health', (ctx) => void (ctx.body = 'of the application'))
    const handler = async () => Response.json('none', { status: 404 })
    const app = new Koa().use(router.routes()).use(router.allowedMethods())
    const { url } = await listenWith(app.use(koaBinding({ ...echo, handler })))

    expect(await (await fetch(`${url}/api/s3/health`)).text()).toBe('of the application')
    const missing = await fetch(`${url}/api/s3/x`, { method: 'DELETE' })
    expect([missing.status, await missing.json()]).toEqual([404, 'none'])
  })
})
