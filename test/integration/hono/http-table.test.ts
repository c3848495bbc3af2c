import { Hono } from 'hono'
import { honoBinding, type HonoMiddleware } from '@svc/db/hono'
import { describeHttpTable, type Way } from '../bindings/describe-http-table.js'
import { listenerOf } from './listener.js'

const versions = [{ name: 'Hono 4' }]

function way(how: string, mount: (app: Hono, binding: HonoMiddleware) => void, prefix = ''): Way<object> {
  return {
    how,
    prefix,
    appOf(served) {
      const app = new Hono()
      mount(app, honoBinding(served))
      return listenerOf(app)
    },
  }
}

describeHttpTable(versions, {
  beforeParsers: [
    way('app.use(b)', (app, b) => app.use(b)),
    way(
      'app.route and basePath',
      (app, b) => app.route('/v1', new Hono().route('/api', new Hono().basePath('/s3').use(b))),
      '/v1',
    ),
    way('a route', (app, b) => app.all('/api/s3/*', b)),
  ],
  afterParsers: [
    way('c.req.text() for JSON', (app, b) =>
      app
        .use(async (c, next) => {
          if (/^application\/json/i.test(c.req.header('content-type') ?? '')) await c.req.text()
          await next()
        })
        .use(b),
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
})
