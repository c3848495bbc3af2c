import express from 'express'
import session from 'express-session'
import Koa from 'koa'
import koaSession from 'koa-session'
import { db } from '@svc/db'
import { expressBinding, expressRequest } from '@svc/db/express'
import { koaBinding, koaContext } from '@svc/db/koa'
import { listByHand, scope } from './listed-scope.mjs'

export const BARE_PATH = '/bare/objects'
export const LIBRARY_PATH = '/api/s3/db/objects'
const NEVER_CACHED = 'private, no-store'

function expressServer(pool, client) {
  const app = express()
  // Only the bare route would pay for ETags: responses of the library have none.
  app.disable('etag')
  app.use(session({ secret: 'bench', resave: false, saveUninitialized: false }))
  app.get('/sign-in', (req, res) => {
    req.session.scope = scope
    res.end()
  })
  app.get(BARE_PATH, async (req, res) => {
    const owner = req.session.scope
    if (!owner) return res.sendStatus(401)
    return res.set('cache-control', NEVER_CACHED).json(await listByHand(pool, owner))
  })
  const plugin = db({ client, resolveScope: (request) => expressRequest(request).session.scope })
  return app.use(expressBinding(plugin))
}

function koaServer(pool, client) {
  const app = new Koa({ keys: ['bench'] })
  app.use(koaSession(app))
  app.use(async (ctx, next) => {
    if (ctx.path !== '/sign-in') return next()
    ctx.session.scope = scope
    ctx.status = 204
  })
  app.use(async (ctx, next) => {
    if (ctx.path !== BARE_PATH || ctx.method !== 'GET') return next()
    const owner = ctx.session.scope
    if (!owner) return ctx.throw(401)
    ctx.set('cache-control', NEVER_CACHED)
    ctx.body = await listByHand(pool, owner)
  })
  const plugin = db({ client, resolveScope: (request) => koaContext(request).session.scope })
  return app.use(koaBinding(plugin)).callback()
}

/** Creates the request listener of each framework, with both routes behind the same session. */
export const servers = { Express: expressServer, Koa: koaServer }
