import { buffer } from 'node:stream/consumers'
import { bodyParser } from '@koa/bodyparser'
import express from 'express'
import express4 from 'express4'
import Koa from 'koa'
import Koa2 from 'koa2'
import mount from 'koa-mount'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { koaBinding } from '@svc/db/koa'
import { memoryAdapter } from '@svc/db/memory'
import { bucket, loadObjects } from './listed-scope.mjs'

/** Returns a server of the library with one page of objects. */
export async function objects() {
  const client = memoryAdapter()
  await loadObjects(client)
  return createS3Server({
    storage: memoryStorage(),
    bucket,
    onError: () => undefined,
    plugins: [db({ client, resolveScope: (request) => request.headers.get('x-user') })],
  })
}

const { Request } = globalThis
const TYPE = { 'content-type': 'application/json' }

/** Parses a body, as every handler of JSON must. */
function parse(body) {
  try {
    JSON.parse(body)
  } catch {
    // The library refuses it.
  }
}

/** Express recognizes an error handler by its four parameters. */
function failed(error, _req, res, next) {
  if (res.headersSent) return next(error)
  res.status(error.status ?? 500).end()
}

const expressServers = (framework) => (s3, recorded) => {
  const app = (middleware) => {
    // Only the library's own time counts, and the library doesn't read `req.query`. Express 4 parses each query, which can
    // take longer than everything else, so the difference of the two sides would be mostly noise.
    const created = framework().set('query parser', false).set('trust proxy', true)
    created.disable('etag').disable('x-powered-by')
    created.use('/parsed', framework.json(), middleware)
    return created.use(middleware, failed)
  }
  return {
    library: app(expressBinding(s3)),
    bare: app((req, res, next) => {
      const reply = () => res.status(recorded.status).set(TYPE).send(recorded.body)
      if (req.method !== 'POST' || req.body !== undefined) return void reply()
      buffer(req).then(parse).then(reply, next)
    }),
  }
}

const koaServers = (Framework) => (s3, recorded) => {
  const app = (middleware) => {
    const created = new Framework({ proxy: true })
    created.silent = true
    const parser = bodyParser()
    created.use((ctx, next) => (ctx.path.startsWith('/parsed') ? parser(ctx, next) : next()))
    created.use(mount('/parsed', middleware))
    return created.use(middleware).callback()
  }
  return {
    library: app(koaBinding(s3)),
    bare: app(async (ctx) => {
      if (ctx.method === 'POST' && ctx.request.body === undefined) parse(await buffer(ctx.req))
      ctx.status = recorded.status
      ctx.set(TYPE)
      ctx.body = recorded.body
    }),
  }
}

/** Node's server with a conversion by hand, for the handler itself. */
function handlerServers({ handler }, recorded) {
  const serve = (respond) => async (message, response) => {
    try {
      const bytes = message.method === 'POST' ? await buffer(message) : null
      const headers = Object.entries(message.headers)
      const request = new Request(`http://localhost${message.url}`, {
        method: message.method,
        headers,
        body: bytes,
      })
      const { status, body } = await respond(request)
      response.writeHead(status, { ...TYPE, 'content-length': Buffer.byteLength(body) }).end(body)
    } catch {
      response.writeHead(400, { 'content-length': 0 }).end()
    }
  }
  return {
    library: serve(async (request) => {
      const response = await handler(request)
      return { status: response.status, body: await response.text() }
    }),
    bare: serve(async (request) => {
      if (request.method === 'POST') parse(await request.text())
      return recorded
    }),
  }
}

/** Creates the request listeners of each framework: `library` and `bare`. */
export const hostileServers = {
  'plain handler': handlerServers,
  'Express 4': expressServers(express4),
  'Express 5': expressServers(express),
  'Koa 2': koaServers(Koa2),
  'Koa 3': koaServers(Koa),
}
