import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { bodyParser } from '@koa/bodyparser'
import Router from '@koa/router'
import legacyBodyParser from 'koa-bodyparser'
import mount from 'koa-mount'
import session from 'koa-session'
import { afterAll, describe } from 'vitest'
import { koaBinding, type KoaMiddleware } from '@svc/db/koa'
import { describeDbEndpoints } from '../http-table/db-endpoints.js'
import type { Serve } from '../http-table/fixture.js'
import { describeJsonBodies } from '../http-table/json-bodies.js'
import { describeMultipartLife } from '../http-table/multipart-life.js'
import { describeObjectLife } from '../http-table/object-life.js'
import { listenerOf, versions, type App, type KoaVersion } from './versions.js'

interface Way {
  readonly how: string
  readonly mount: (app: App, binding: KoaMiddleware, version: KoaVersion) => void
  /** In front of the base path. */
  readonly prefix: string
}

const beforeParsers: readonly Way[] = [
  { how: 'app.use(b)', mount: (app, b) => app.use(b).use(bodyParser()), prefix: '' },
  {
    how: 'koa-mount in koa-mount',
    mount: (app, b, { Koa }) => app.use(mount('/v1', new Koa().use(mount('/api', mount('/s3', b))))),
    prefix: '/v1',
  },
  {
    how: 'a route of @koa/router',
    mount: (app, b) => app.use(new Router().all('/api/s3{/*rest}', b).routes()),
    prefix: '',
  },
]

const afterParsers: readonly Way[] = [
  { how: '@koa/bodyparser', mount: (app, b) => app.use(bodyParser()).use(b), prefix: '' },
  { how: 'koa-bodyparser', mount: (app, b) => app.use(legacyBodyParser()).use(b), prefix: '' },
  {
    how: 'a parser of all types and a session, in a nested route',
    mount(app, b) {
      app.keys = ['test']
      app.use(session({ rolling: true }, app))
      app.use(bodyParser({ enableTypes: ['json', 'form', 'text', 'xml'] }))
      const inner = new Router().all('/api/s3{/*rest}', b)
      app.use(mount('/v1', new Router().use('', inner.routes()).routes()))
    },
    prefix: '/v1',
  },
]

function servingBy({ mount, prefix }: Way, version: KoaVersion): Serve {
  return async (s3) => {
    const app = new version.Koa()
    mount(app, koaBinding(s3), version)
    const server = createServer(listenerOf(app))
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
  })
})
