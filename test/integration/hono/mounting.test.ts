import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { honoBinding, type HonoMiddleware } from '@svc/db/hono'
import { echo, echoOf } from '../bindings/echo.js'
import { listen } from '../bindings/listening.js'
import { describeMounts, mountedPaths, type Mount } from '../bindings/mounting-table.js'
import { listenerOf } from './listener.js'

const mounts: readonly Mount<Hono, HonoMiddleware>[] = [
  { how: 'app.use(b)', mount: (app, b) => app.use(b), paths: mountedPaths.root },
  { how: "app.use('/api/s3/*', b)", mount: (app, b) => app.use('/api/s3/*', b), paths: mountedPaths.base },
  { how: "app.use('/v1/*', b)", mount: (app, b) => app.use('/v1/*', b), paths: mountedPaths.prefix },
  {
    how: "app.route('/v1', app)",
    mount: (app, b) => app.route('/v1', new Hono().use(b)),
    paths: mountedPaths.prefix,
  },
  {
    how: 'a pattern for a part of the base path',
    mount: (app, b) => app.use('/api/*', b),
    paths: { '/api/s3/db': '/api/s3', '/api/s3': '/api/s3', '/api': null, '/api/x': null },
  },
  {
    how: 'a route with a parameter',
    mount: (app, b) => app.route('/:tenant', new Hono().use(b)),
    paths: {
      '/acme/api/s3/db': '/acme/api/s3',
      '/ac%20me/api/s3': '/ac%20me/api/s3',
      '/acme': null,
    },
  },
]

describe('mounting in Hono 4', () => {
  describeMounts(mounts, ({ mount }) => {
    const app = new Hono()
    mount(app, honoBinding(echo))
    app.notFound((c) => c.text('the next handler', 404))
    return listen(listenerOf(app))
  })

  it('gets the rest of the path with app.mount', async () => {
    const inner = new Hono().use(honoBinding(echo))
    const response = await new Hono().mount('/v1', inner.fetch).request('/v1/api/s3/db')
    expect(await echoOf(response)).toMatchObject({ url: 'http://localhost/api/s3/db', basePath: '/api/s3' })
  })
})
