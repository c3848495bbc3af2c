import { expressBinding, type ExpressHandler } from '@svc/db/express'
import type { Way } from '../http-table/describe-http-table.js'
import type { App, ExpressVersion } from './versions.js'

function way(
  how: string,
  mount: (app: App, binding: ExpressHandler, version: ExpressVersion) => void,
  prefix = '',
): Way<ExpressVersion> {
  return {
    how,
    prefix,
    appOf(served, version) {
      const app = version.express()
      mount(app, expressBinding(served), version)
      return app
    },
  }
}

/** The ways to mount the binding in an application. */
export const ways: readonly Way<ExpressVersion>[] = [
  way('app.use(b)', (app, b) => app.use(b)),
  way(
    'routers that form the base path together',
    (app, b, { express }) => app.use('/v1', express.Router().use('/api', express.Router().use('/s3', b))),
    '/v1',
  ),
  way('a route after all parsers', (app, b, { express, rest }) =>
    app
      .use(express.json(), express.urlencoded({ extended: true }), express.text())
      .use(express.raw({ type: 'image/*', limit: '1mb' }))
      .all(`/api/s3/${rest}`, b),
  ),
  way(
    'a parser that keeps the bytes, under a parameter',
    (app, b, { express }) => app.use('/:tenant', express.raw({ type: () => true, limit: '1mb' }), b),
    '/a%20b',
  ),
]
