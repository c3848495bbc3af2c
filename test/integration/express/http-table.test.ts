import { expressBinding, type ExpressHandler } from '@svc/db/express'
import { describeHttpTable, type Way } from '../bindings/describe-http-table.js'
import { versions, type App, type ExpressVersion } from './versions.js'

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

describeHttpTable(versions, {
  beforeParsers: [
    way('app.use(b)', (app, b) => app.use(b)),
    way(
      'a router',
      (app, b, { express }) => app.use('/v1', express.Router().use('/api', express.Router().use('/s3', b))),
      '/v1',
    ),
  ],
  afterParsers: [
    way('express.json()', (app, b, { express }) => app.use(express.json(), b)),
    way('all parsers', (app, b, { express }) =>
      app.use(
        express.json(),
        express.urlencoded({ extended: true }),
        express.text(),
        express.raw({ type: 'image/*', limit: '1mb' }),
        b,
      ),
    ),
    way('a parser that keeps the bytes', (app, b, { express }) =>
      app.use(express.raw({ type: () => true, limit: '9mb' }), b),
    ),
  ],
})
