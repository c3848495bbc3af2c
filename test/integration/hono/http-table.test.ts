import { Hono } from 'hono'
import { honoBinding, type HonoMiddleware } from '@svc/db/hono'
import { describeSmokeTables, type Way } from '../http-table/describe-http-table.js'
import { listenerOf } from './listener.js'

function way(how: string, mount: (app: Hono, binding: HonoMiddleware) => void, prefix = ''): Way<object> {
  return {
    how,
    prefix,
    appOf(served) {
      const app = new Hono()
      // Otherwise, Hono prints the error.
      app.onError((_error, c) => c.text('by the application', 500))
      mount(app, honoBinding(served))
      return listenerOf(app)
    },
  }
}

describeSmokeTables(
  [{ name: 'Hono 4' }],
  [
    way('app.use(b)', (app, b) => app.use(b)),
    way(
      'app.route and basePath',
      (app, b) => app.route('/v1', new Hono().route('/api', new Hono().basePath('/s3').use(b))),
      '/v1',
    ),
    way('a route after c.req.text() for JSON', (app, b) =>
      app
        .use(async (c, next) => {
          if (c.req.header('content-type') === 'application/json') await c.req.text()
          await next()
        })
        .all('/api/s3/*', b),
    ),
    way('c.req.arrayBuffer()', (app, b) =>
      app
        .use(async (c, next) => {
          if (c.req.method !== 'GET') await c.req.arrayBuffer()
          await next()
        })
        .use(b),
    ),
  ],
)
