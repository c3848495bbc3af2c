import { bodyParser } from '@koa/bodyparser'
import fastifyCookie from '@fastify/cookie'
import fastifySession from '@fastify/session'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import session from 'express-session'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { getSignedCookie, setSignedCookie } from 'hono/cookie'
import Koa from 'koa'
import koaSession from 'koa-session'
import { createS3Server, db } from '@svc/db'
import { expressBinding, expressRequest } from '@svc/db/express'
import { fastifyBinding, fastifyRequest } from '@svc/db/fastify'
import { honoBinding, honoContext } from '@svc/db/hono'
import { koaBinding, koaContext } from '@svc/db/koa'
import { bucket, listByHand } from './listed-scope.mjs'
import { confirmByHand, keyOf, uploadByHand } from './uploads-by-hand.mjs'

/** Where both routes are mounted, with the same paths below. */
export const MOUNTS = { bare: '/bare', library: '/api/s3' }

const NEVER_CACHED = 'private, no-store'
const SECRET = 'a secret of at least 32 characters'

/** The bare routes: method, path, status, and the work for the body of a signed-in caller. */
const bareRoutes = ({ signUpload, head }) => [
  { method: 'get', path: `${MOUNTS.bare}/db/objects`, status: 200, work: listByHand },
  { method: 'post', path: `${MOUNTS.bare}/upload`, status: 201, work: uploadByHand(signUpload) },
  { method: 'post', path: `${MOUNTS.bare}/upload/confirm`, status: 200, work: confirmByHand(head) },
]

function libraryServer(client, { storage }, resolveScope) {
  return createS3Server({
    storage,
    bucket,
    routes: { default: { key: keyOf } },
    plugins: [db({ client, resolveScope })],
  })
}

function expressServer(pool, client, bucketCalls) {
  const app = express()
  // Only the bare route would pay for ETags: responses of the library have none.
  app.disable('etag')
  app.use(session({ secret: SECRET, resave: false, saveUninitialized: false }))
  app.get('/sign-in', (req, res) => {
    req.session.scope = req.query.scope
    res.end()
  })
  for (const { method, path, status, work } of bareRoutes(bucketCalls)) {
    const parsers = method === 'post' ? [express.json()] : []
    app[method](path, ...parsers, async (req, res) => {
      const owner = req.session.scope
      if (!owner) return res.sendStatus(401)
      const body = await work(pool, owner, req.body)
      return res.status(status).set('cache-control', NEVER_CACHED).json(body)
    })
  }
  const s3 = libraryServer(client, bucketCalls, (request) => expressRequest(request).session.scope)
  return app.use(expressBinding(s3))
}

function koaServer(pool, client, bucketCalls) {
  const app = new Koa({ keys: [SECRET] })
  const parser = bodyParser()
  app.use(koaSession(app))
  app.use(async (ctx, next) => {
    if (ctx.path !== '/sign-in') return next()
    ctx.session.scope = ctx.query.scope
    ctx.status = 204
  })
  for (const { method, path, status, work } of bareRoutes(bucketCalls)) {
    app.use(async (ctx, next) => {
      if (ctx.path !== path || ctx.method !== method.toUpperCase()) return next()
      const owner = ctx.session.scope
      if (!owner) return ctx.throw(401)
      if (method === 'post') await parser(ctx, async () => undefined)
      ctx.set('cache-control', NEVER_CACHED)
      ctx.status = status
      ctx.body = await work(pool, owner, ctx.request.body)
    })
  }
  const s3 = libraryServer(client, bucketCalls, (request) => koaContext(request).session.scope)
  return app.use(koaBinding(s3)).callback()
}

async function fastifyServer(pool, client, bucketCalls) {
  const app = Fastify()
  await app.register(fastifyCookie)
  await app.register(fastifySession, { secret: SECRET, cookie: { secure: false }, saveUninitialized: false })
  app.get('/sign-in', async (request) => {
    request.session.set('scope', request.query.scope)
    return ''
  })
  for (const { method, path, status, work } of bareRoutes(bucketCalls)) {
    app[method](path, async (request, reply) => {
      const owner = request.session.get('scope')
      if (!owner) return reply.code(401).send()
      return reply
        .code(status)
        .header('cache-control', NEVER_CACHED)
        .send(await work(pool, owner, request.body))
    })
  }
  const s3 = libraryServer(client, bucketCalls, (request) => fastifyRequest(request).session.get('scope'))
  await app.register(fastifyBinding(s3))
  await app.ready()
  return (req, res) => app.routing(req, res)
}

function honoServer(pool, client, bucketCalls) {
  const app = new Hono()
  app.use(async (c, next) => {
    c.set('scope', await getSignedCookie(c, SECRET, 'scope'))
    await next()
  })
  app.get('/sign-in', async (c) => {
    await setSignedCookie(c, 'scope', c.req.query('scope'), SECRET)
    return c.body(null, 204)
  })
  for (const { method, path, status, work } of bareRoutes(bucketCalls)) {
    app[method](path, async (c) => {
      const owner = c.get('scope')
      if (!owner) return c.body(null, 401)
      const body = await work(pool, owner, method === 'post' ? await c.req.json() : undefined)
      return c.json(body, status, { 'cache-control': NEVER_CACHED })
    })
  }
  const s3 = libraryServer(client, bucketCalls, (request) => honoContext(request).get('scope'))
  app.use(honoBinding(s3))
  return getRequestListener(app.fetch)
}

/**
 * Creates the request listener of each framework, with the bare routes and the library behind the same session. Takes a pool for
 * the bare routes, the adapter of the library, and a bucket for both.
 */
export const servers = { Express: expressServer, Koa: koaServer, Fastify: fastifyServer, Hono: honoServer }
