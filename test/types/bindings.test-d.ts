import { createSecureServer } from 'node:http2'
import Router from '@koa/router'
import express5 from 'express'
import express4 from 'express4'
import { fastify as fastify5, type FastifyRequest } from 'fastify'
import { fastify as fastify4 } from 'fastify4'
import { Hono, type Context as HonoContext, type MiddlewareHandler } from 'hono'
import Koa3 from 'koa'
import Koa2 from 'koa2'
import mount from 'koa-mount'
import { describe, expectTypeOf, it } from 'vitest'
import type { Served } from '@svc/db/express'
import * as forExpress from '@svc/db/express'
import * as forFastify from '@svc/db/fastify'
import * as forHono from '@svc/db/hono'
import * as forKoa from '@svc/db/koa'

declare const s3: Served

describe('bindings are compatible with the types of', () => {
  it('Express 4', () => {
    const b = forExpress.expressBinding(s3)
    expectTypeOf(b).toExtend<express4.RequestHandler>()
    const app = express4().use(b).use('/v1', express4.json(), b)
    app.all('/api/s3/*', b)
    const router = express4.Router().use('/:tenant', b)
    router.get('/files/:key', (req) => void forExpress.fetchRequest(req))
  })

  it('Express 5', () => {
    const b = forExpress.expressBinding(s3)
    expectTypeOf(b).toExtend<express5.RequestHandler>()
    const app = express5().use(b).use('/v1', express5.json(), b)
    app.all('/api/s3/*rest', b)
    const router = express5.Router().use('/:tenant', b)
    router.get('/files/:key', (req) => {
      expectTypeOf(forExpress.expressRequest(forExpress.fetchRequest(req))).toExtend<express5.Request>()
    })
  })

  it('Koa 2', () => {
    const b = forKoa.koaBinding(s3)
    expectTypeOf(b).toExtend<Koa2.Middleware>()
    new Koa2().use(b).use((ctx) => void forKoa.fetchRequest(ctx))
  })

  it('Koa 3', () => {
    const b = forKoa.koaBinding(s3)
    expectTypeOf(b).toExtend<Koa3.Middleware>()
    const app = new Koa3<{ user?: string }>().use(b).use(mount('/v1', b))
    app.use((ctx) => expectTypeOf(forKoa.koaContext(forKoa.fetchRequest(ctx))).toExtend<Koa3.Context>())
    const router = new Router().all('/api/s3/{*rest}', b)
    router.get('/files/:key', (ctx) => void forKoa.fetchRequest(ctx))
  })

  it('Fastify 4', () => {
    const b = forFastify.fastifyBinding(s3)
    const app = fastify4()
    app.register(b)
    app.register(b, { prefix: '/v1' })
    app.get('/files/:key', (request, reply) => void forFastify.fetchRequest(request, reply))
    fastify4({ http2: true }).register(b)
  })

  it('Fastify 5', () => {
    const b = forFastify.fastifyBinding(s3)
    const app = fastify5()
    app.register(b)
    app.register(b, { prefix: '/v1' })
    app.get<{ Params: { key: string } }>('/files/:key', (request, reply) => {
      const found: FastifyRequest = forFastify.fastifyRequest(forFastify.fetchRequest(request, reply))
      return found
    })
    const secure = fastify5({ http2: true, https: {}, serverFactory: (run) => createSecureServer({}, run) })
    secure.register(b)
    secure.get('/files/:key', (request, reply) => void forFastify.fetchRequest(request, reply))
  })

  it('Hono 4', () => {
    const b = forHono.honoBinding(s3)
    expectTypeOf(b).toExtend<MiddlewareHandler>()
    const app = new Hono<{ Bindings: { secret: string }; Variables: { user: string } }>()
    app.use(b)
    app.use('/v1/*', b)
    app.all('/api/s3/*', b)
    app.route('/v2', new Hono().use(b))
    app.get('/files/:key', (c) => {
      const found: HonoContext = forHono.honoContext(forHono.fetchRequest(c))
      return found.text(c.get('user'))
    })
  })
})
