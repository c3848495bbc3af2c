import { bodyParser } from '@koa/bodyparser'
import Router from '@koa/router'
import legacyBodyParser from 'koa-bodyparser'
import mount from 'koa-mount'
import session from 'koa-session'
import { koaBinding, type KoaMiddleware } from '@svc/db/koa'
import type { Way } from '../http-table/describe-http-table.js'
import { listenerOf, type App, type KoaVersion } from './versions.js'

function way(
  how: string,
  mountIn: (app: App, binding: KoaMiddleware, version: KoaVersion) => void,
  prefix = '',
): Way<KoaVersion> {
  return {
    how,
    prefix,
    appOf(served, version) {
      const app = new version.Koa()
      app.silent = true
      mountIn(app, koaBinding(served), version)
      return listenerOf(app)
    },
  }
}

/** The ways to mount the binding in an application. */
export const ways: readonly Way<KoaVersion>[] = [
  way('app.use(b)', (app, b) => app.use(b)),
  way(
    'koa-mount in koa-mount',
    (app, b, { Koa }) => app.use(mount('/v1', new Koa().use(mount('/api', mount('/s3', b))))),
    '/v1',
  ),
  way('a route after koa-bodyparser', (app, b) =>
    app.use(legacyBodyParser()).use(new Router().all('/api/s3{/*rest}', b).routes()),
  ),
  way(
    '@koa/bodyparser for all types and a session, in a nested route',
    (app, b) => {
      app.keys = ['test']
      app.use(session({ rolling: true }, app))
      app.use(bodyParser({ enableTypes: ['json', 'form', 'text', 'xml'] }))
      const inner = new Router().all('/api/s3{/*rest}', b)
      app.use(mount('/v1', new Router().use('', inner.routes()).routes()))
    },
    '/v1',
  ),
]
