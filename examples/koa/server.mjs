// A Koa server with sessions that uses the library. Run `npm run build`, then `node examples/koa/server.mjs`.
// PORT sets the port (default: any free one). All data is in memory.
import { bodyParser } from '@koa/bodyparser'
import Router from '@koa/router'
import Koa from 'koa'
import session from 'koa-session'
import { fetchRequest, koaBinding, koaContext } from '@svc/db/koa'
import { runUntilSignal } from '../lifecycle.mjs'
import { createTeamNotes, errorResponse } from '../team-notes.mjs'

const people = ['ann', 'bob', 'eve']

// Maps the signed-in user to a scope, from the existing session.
const { s3, share, checksum, checkQuota, write, read, copy } = createTeamNotes((request) => {
  const { user } = koaContext(request).session
  return user ? `user:${user}` : null
})

const app = new Koa({ keys: ['for this example only'] })
app.use(async (ctx, next) => {
  try {
    await next()
  } catch (error) {
    const response = errorResponse(error)
    if (!response) throw error
    ctx.status = response.status
    ctx.body = response.body
  }
})
app.use(session({ sameSite: 'lax' }, app))

// Serves all paths below /api/s3. The address of a file for `<img src>` or a link is /api/s3/file?key=….
// Must come before the body parser, or uploads of JSON files into `memoryStorage` fail.
app.use(koaBinding(s3))

const router = new Router()
router.get('/health', (ctx) => {
  ctx.body = 'ok'
})
router.post('/login', bodyParser(), (ctx) => {
  const { user } = ctx.request.body
  if (!people.includes(user)) return ctx.throw(401)
  ctx.session.user = user
  ctx.status = 204
})
router.post('/logout', (ctx) => {
  ctx.session = null
  ctx.status = 204
})

// Lets the owner of a file choose who else may read it.
router.put('/readers', bodyParser(), async (ctx) => {
  await share(fetchRequest(ctx), ctx.request.body)
  ctx.status = 204
})
// The event handler computes checksums after uploads, so there is none at first.
router.get('/checksum', async (ctx) => {
  ctx.body = { sha256: await checksum(fetchRequest(ctx), ctx.query.key) }
})

// Application routes with the same guards as the library's.
router.get('/notes/:key', async (ctx) => {
  ctx.body = await read(fetchRequest(ctx), ctx.params.key)
})
router.post('/notes/:key/copy', bodyParser(), async (ctx) => {
  const { key, size } = await copy(fetchRequest(ctx), ctx.params.key, ctx.request.body.as)
  ctx.status = 201
  ctx.body = { key, size }
})
// Checks the quota before reading the body.
const checkSize = async (ctx, next) => {
  await checkQuota(fetchRequest(ctx), ctx.params.key, ctx.request.length ?? 0)
  await next()
}
router.post('/notes/:key', checkSize, bodyParser({ enableTypes: ['text'] }), async (ctx) => {
  const note = { key: ctx.params.key, text: ctx.request.body, readers: ctx.query.readers }
  const { key, size } = await write(fetchRequest(ctx), note)
  ctx.status = 201
  ctx.body = { key, size }
})
app.use(router.routes()).use(router.allowedMethods())

const server = app.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`Koa listens at http://127.0.0.1:${server.address().port}`)
})
runUntilSignal({ server, s3 })
