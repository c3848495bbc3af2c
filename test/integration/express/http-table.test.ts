import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe } from 'vitest'
import { expressBinding, type ExpressHandler } from '@svc/db/express'
import { describeDbEndpoints } from '../http-table/db-endpoints.js'
import type { Serve } from '../http-table/fixture.js'
import { describeJsonBodies } from '../http-table/json-bodies.js'
import { describeMultipartLife } from '../http-table/multipart-life.js'
import { describeObjectLife } from '../http-table/object-life.js'
import { versions, type App, type ExpressVersion } from './versions.js'

interface Way {
  readonly how: string
  readonly mount: (app: App, binding: ExpressHandler, version: ExpressVersion) => void
  /** In front of the base path. */
  readonly prefix: string
}

const beforeParsers: readonly Way[] = [
  { how: 'app.use(b)', mount: (app, b) => app.use(b), prefix: '' },
  {
    how: 'a router',
    mount: (app, b, { express }) =>
      app.use('/v1', express.Router().use('/api', express.Router().use('/s3', b))),
    prefix: '/v1',
  },
]

const afterParsers: readonly Way[] = [
  { how: 'express.json()', mount: (app, b, { express }) => app.use(express.json(), b), prefix: '' },
  {
    how: 'all parsers',
    mount: (app, b, { express }) =>
      app.use(
        express.json(),
        express.urlencoded({ extended: true }),
        express.text(),
        express.raw({ type: 'image/*', limit: '1mb' }),
        b,
      ),
    prefix: '',
  },
  {
    how: 'a parser that keeps the bytes',
    mount: (app, b, { express }) => app.use(express.raw({ type: () => true, limit: '9mb' }), b),
    prefix: '',
  },
]

function servingBy({ mount, prefix }: Way, version: ExpressVersion): Serve {
  return async (s3) => {
    const app = version.express()
    mount(app, expressBinding(s3), version)
    const server = createServer(app)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    afterAll(() => void server.close())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}${s3.basePath}`
  }
}

describe.each(versions)('$name', (version) => {
  describe.each(beforeParsers)('with $how', (way) => {
    const serve = servingBy(way, version)
    describeDbEndpoints(serve)
    describeJsonBodies(serve)
    describeObjectLife(serve)
    describeMultipartLife(serve)
  })

  describe.each(afterParsers)('after $how', (way) => {
    describeObjectLife(servingBy(way, version))
    describeMultipartLife(servingBy(way, version))
  })
})
